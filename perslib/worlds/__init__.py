"""The synthetic world: people, tasks, replies, ratings and device logs whose truth is known.

    from perslib.worlds import world
    corpus = world(users=115, seed=42, language="zh")

Every user has a latent taste (weights over six qualities of a reply), strictness and habits, and a life that
profile, tasks, monthly situations and device logs are all written from. Five synthetic assistants of
different habits answer; the text of a reply really has or lacks each quality (`replies`). Scores come from
an ordinal model with known thresholds, reasons from the largest shortfall (`satisfaction`), times and
behaviour from the same score. One draw stream per user and conversation makes the same bytes on
every machine (`Dice`); the first n users do not depend on how many follow. All texts stand in `words/`, the numbers in
`model.toml` and `numbers.toml`.

`corpus.turns` and the other frames carry nothing latent. The truth stands in `corpus.extras`:

truth_users      user; weight_detail … weight_brevity (length 1; negative brevity likes long replies);
                 strictness (added to all thresholds), top_shift (added to the one between 4 and 5), noise (sd);
                 complaining, thanking, clicking, skimming, insisting (propensities); patience (budget of
                 turn costs); tone; household; constraints (lifelong, as `scenario:constraint`)
truth_turns      user, scenario, session, turn; detail … brevity (qualities, 0–1); utility (noise-free, before
                 thresholds); expected (mean score over the noise); cost (taken from the patience); focus (topic
                 asked about); off_topic; demand (quality asked to be improved); kept, silent, broken
                 (constraints the reply confirmed, passed over, violated); behaviour (labels of the user's
                 reaction: skim, repeat, rephrase, complain, dismiss, dislike, like, thanks)
truth_sessions   user, scenario, session; needs (topics to settle); spent (sum of turn costs)
situations       user, situation (number), start, end, aspect (work, health, family, leisure), text, requirement,
                 liked and disliked kinds of solution
candidates       user, scenario, session, turn, candidate (assistant), response, qualities, utility, expected:
                 what each of the five assistants says after the same prefix, for a share of the turns

`perslib.corpus.known_truth.rate(corpus, scale, seed)` lets the users rate every reply of `candidates` as well, on any scale.
"""

from perslib.worlds.chats.assistants import ASSISTANTS
from perslib.worlds.lives import QUALITIES
from perslib.worlds.world import world, write_sample

__all__ = ["ASSISTANTS", "QUALITIES", "world", "write_sample"]
