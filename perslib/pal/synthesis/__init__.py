"""PAL-Sets written by a model: people, their months, and what they log and say."""
