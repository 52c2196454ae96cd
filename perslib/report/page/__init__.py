"""Pages: what a notebook puts on one, rendering, exports, the index and the leaderboard."""
