"""The vocabulary of PAL-Set in both languages (Mem-PAL, Tables 7 and 8): actions, feedback, aspects, log types.

The English release was translated by a model and not reviewed, so what stands there is met in several forms.
"""

from __future__ import annotations

import re

ASPECTS = ("work", "health", "family", "leisure")
TRAITS = ("Openness", "Conscientiousness", "Extraversion", "Agreeableness", "Neuroticism")
LEVELS = ("low", "medium", "high")
#: What the profile of a user holds, in the order of the release.
BACKGROUND = (
    "name",
    "gender",
    "age",
    "occupation",
    "health status",
    "family members",
    "hobbies",
    "personality",
)
PARTS = ("history", "query")

#: What a user does with a turn, and what an assistant does: our name → the name in the release.
USER_ACTIONS = {
    "zh": {
        "topic_inquiry": "话题询问",
        "requirement_confirmation": "需求确认",
        "solution_discussion": "方案讨论",
        "solution_feedback": "方案反馈",
    },
    "en": {
        "topic_inquiry": "Topic Inquiry",
        "requirement_confirmation": "Requirement Confirmation",
        "solution_discussion": "Solution Discussion",
        "solution_feedback": "Solution Feedback",
    },
}
ASSISTANT_ACTIONS = {
    "zh": {
        "requirement_prediction": "需求推测",
        "solution_proposal": "方案提议",
        "solution_discussion": "方案讨论",
        "feedback_response": "反馈回应",
    },
    "en": {
        "requirement_prediction": "Requirement Prediction",
        "solution_proposal": "Solution Proposal",
        "solution_discussion": "Solution Discussion",
        "feedback_response": "Feedback Response",
    },
}
LABELS = ("pos", "neg", "neu")
_FEEDBACK = {
    "pos": ("pos", "positive", "积极", "正面", "喜欢"),
    "neg": ("neg", "negative", "消极", "负面", "不喜欢"),
    "neu": ("neu", "neutral", "中性", "中立"),
}
_GENDERS = {"woman": "Female", "man": "Male", "female": "Female", "male": "Male"}
LOG_TYPES = {
    "zh": (
        "网页搜索",
        "内容发布",
        "内容浏览",
        "消息发送",
        "消息接收",
        "日程管理",
        "交易记录",
        "设备操作",
    ),
    "en": (
        "Web Search",
        "Content Publishing",
        "Content Browsing",
        "Message Sending",
        "Message Receiving",
        "Schedule Management",
        "Transaction Record",
        "Device Operation",
    ),
}


def _plain(text: str) -> str:
    """A name without case, brackets, blanks, hyphens and underscores."""
    return re.sub(r"[\s_<>＜＞《》\-]+", "", text).casefold()


def _table(actions: dict[str, dict[str, str]]) -> dict[str, str]:
    forms = [(name, form) for names in actions.values() for name, form in names.items()]
    return {_plain(form): name for name, form in forms}


_USER, _ASSISTANT = _table(USER_ACTIONS), _table(ASSISTANT_ACTIONS)
_LABEL = {_plain(form): label for label, forms in _FEEDBACK.items() for form in forms}
_AS_PUBLISHED = {
    form
    for actions in (USER_ACTIONS, ASSISTANT_ACTIONS)
    for names in actions.values()
    for form in names.values()
}


def user_action(text: str) -> str | None:
    """Our name of what a user does: `话题询问`, `<Topic_Inquiry>` → `topic_inquiry`; None when it is none."""
    return _USER.get(_plain(text))


def assistant_action(text: str) -> str | None:
    """Our name of what an assistant does; None when it is none."""
    return _ASSISTANT.get(_plain(text))


def is_as_published(action: str) -> bool:
    """Whether an action is written as the paper writes it."""
    return action in _AS_PUBLISHED


def label(text: str) -> str | None:
    """pos, neg or neu of a feedback in either language; None when it is none of them."""
    return _LABEL.get(_plain(text))


def gender(text: str) -> str:
    """Male or Female for the forms the English release mixes; anything else as it stands."""
    return _GENDERS.get(text.strip().casefold(), text)
