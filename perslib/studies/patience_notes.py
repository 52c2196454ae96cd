"""The page on patience in sentences with computed numbers, in English and Chinese."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from perslib.inference import correlation
from perslib.patience.published import LEVEL_MEANS_R, STATUS_ACCURACY
from perslib.studies.notes import Note
from perslib.studies.patience import FORWARD, FULL, LIGHT, PLAIN, TURN_COSTS
from perslib.studies.patience_assumptions import TIMEOUTS, TOLD_GAMMA
from perslib.studies.patience_text import Rated


def missing_torch() -> Note:
    """What to install where nothing can be fitted."""
    return {
        "en": "Estimating turn costs and patience needs torch, which is not installed here: "
        '`pip install "perslib[patience]"`. What follows without it is only what needs no fit.',
        "zh": '估计轮次代价与耐心需要 torch，而此处没有安装：`pip install "perslib[patience]"`。以下只展示不需要拟合的部分。',
    }


def no_agents() -> Note:
    """Where agents come from."""
    return {
        "en": "No agents were trained for this page; below are the hand-written policies, patience on. "
        "`-p run=runs/patience -p preset=paper` trains them (three seeds, long) or shows a run that is there.",
        "zh": "本页没有训练智能体，下表为手写策略（用户会因耐心耗尽而离开）。用 `-p run=runs/patience -p preset=paper` 可以训练"
        "（三个种子，耗时较长），或展示已有的运行。",
    }


def of(measured: pd.DataFrame, method: str, measure: str) -> float:
    """One number of `measured`."""
    row = measured[(measured["method"] == method) & (measured["measure"] == measure)]
    return float(row["value"].iloc[0])


def slopes(measured: pd.DataFrame) -> Note:
    """Whether slope per |v_b| is one number, as Figure 3 says."""
    per = [of(measured, f"{FULL}, v_b = {v:g}", "slope_per_v_b") for v in TURN_COSTS]
    steps = [of(measured, f"{FULL}, v_b = {v:g}", "step_r") for v in TURN_COSTS]
    return {
        "en": f"Estimated and true rewards correlate at {min(steps):.3f} to {max(steps):.3f} over single turns, whatever v_b "
        f"is. The slope grows with v_b: divided by |v_b| it lies between {min(per):.2f} and {max(per):.2f}. So v_b sets "
        "the scale and nothing else, which is what the paper's Figure 3 says; where v_b is the true inherent cost (−1), "
        "a slope near 1 is also the true scale. It grows with training, for dialogues that fit already "
        "give no gradient.",
        "zh": f"无论 v_b 取何值，逐轮的估计奖励与真实奖励相关系数都在 {min(steps):.3f} 到 {max(steps):.3f} 之间。斜率随 v_b 增大，"
        f"除以 |v_b| 后介于 {min(per):.2f} 与 {max(per):.2f}。可见 v_b 只决定尺度，这正是论文图 3 的结论；当 v_b 等于真实的固有代价（−1）时，"
        "接近 1 的斜率也就是真实尺度。斜率随训练增长，因为已经满足约束的对话不再产生梯度。",
    }


def losses(measured: pd.DataFrame, on: str) -> Note:
    """What loss2 is good for; `on` is the name of the full fit."""
    full, light = (
        {m: of(measured, name, m) for m in ("step_r", "stop_accuracy", "within_std", "accuracy")}
        for name in (on, LIGHT)
    )
    return {
        "en": f"Without loss2 the step correlation falls from {full['step_r']:.2f} to {light['step_r']:.2f}, and the spread "
        f"within a level grows {light['within_std'] / full['within_std']:.1f}-fold. Status accuracy hides this "
        f"({full['accuracy']:.2f} against {light['accuracy']:.2f}); when users leave does not: the budget is first negative "
        f"at the last turn in {full['stop_accuracy']:.0%} of failures with the full loss, in {light['stop_accuracy']:.0%} "
        "with the light one.",
        "zh": f"去掉 loss2 后，逐轮相关系数从 {full['step_r']:.2f} 降到 {light['step_r']:.2f}，同一水平内的离散度变为 "
        f"{light['within_std'] / full['within_std']:.1f} 倍。状态准确率看不出这一点（{full['accuracy']:.2f} 对 {light['accuracy']:.2f}），"
        f"离开的时刻却看得出：完整损失下 {full['stop_accuracy']:.0%} 的失败对话恰在最后一轮首次出现负预算，精简损失下只有 "
        f"{light['stop_accuracy']:.0%}。",
    }


def status(measured: pd.DataFrame, on: str) -> Note:
    """How little status accuracy says by itself."""
    majority, accuracy, balanced = (of(measured, on, m) for m in ("majority", "accuracy", "balanced"))
    return {
        "en": f"The constant answer “failed” is right in {majority:.1%} of these dialogues, the estimate in {accuracy:.1%} "
        f"(the paper: {STATUS_ACCURACY['v_b = -1']:.1%}). Balanced over success and failure it is {balanced:.1%}, where "
        "the constant answer has 50 %.",
        "zh": f"一律回答“失败”在这些对话上就有 {majority:.1%} 正确，估计所得为 {accuracy:.1%}（论文：{STATUS_ACCURACY['v_b = -1']:.1%}）。"
        f"对成功与失败作平衡后为 {balanced:.1%}，而一律回答“失败”只有 50%。",
    }


def forward(measured: pd.DataFrame) -> Note:
    """What the forward-looking losses are good for."""
    here, plain = (of(measured, name, "step_r") for name in (FORWARD, PLAIN))
    spread = of(measured, PLAIN, "within_std") / of(measured, FORWARD, "within_std")
    return {
        "en": f"User 3 leaves before the budget is used up. Losses that know why reach a step correlation of {here:.2f}; "
        f"those that do not, {plain:.2f}, with {spread:.1f} times the spread within levels. This is what sets the paper's "
        "Figure 5 apart from its Figure 4.",
        "zh": f"用户 3 在预算用完之前就会离开。知道原因的损失达到 {here:.2f} 的逐轮相关；不知道的只有 {plain:.2f}，同一水平内的离散度为 "
        f"{spread:.1f} 倍。论文图 5 与图 4 的差别正在于此。",
    }


def off_policy(on: pd.DataFrame, off: pd.DataFrame, method: str) -> Note:
    """Whether the estimate is one of the user."""
    here, there = of(on, method, "step_r"), of(off, method, "step_r")
    return {
        "en": f"With another system, whose turns the fit has seldom seen, the step correlation is {there:.2f} instead of "
        f"{here:.2f}.",
        "zh": f"换成另一个系统（拟合时很少见到它的动作），逐轮相关系数为 {there:.2f}，原为 {here:.2f}。",
    }


def people(users: Mapping[str, pd.DataFrame], seed: int) -> Note:
    """Who is patient, found from the profile."""
    r = {
        name: correlation(frame["estimated"], frame["true"], frame["user"], seed=seed)
        for name, frame in users.items()
    }
    bare, known = r["without profile"], r["profile in h"]
    number = len(next(iter(users.values())))
    return {
        "en": f"For {number} people of whom no dialogue was seen in training, estimated and true relative patience correlate at "
        f"{known[0]:.2f} [{known[1]:.2f}, {known[2]:.2f}] when h also sees what their profile says of their personality, and "
        f"at {bare[0]:.2f} [{bare[1]:.2f}, {bare[2]:.2f}] when it sees only the goal.",
        "zh": f"对训练中从未出现过的 {number} 人，若 h 还能看到个人资料中的性格描述，估计与真实的相对耐心相关系数为 "
        f"{known[0]:.2f} [{known[1]:.2f}, {known[2]:.2f}]；只看目标时为 {bare[0]:.2f} [{bare[1]:.2f}, {bare[2]:.2f}]。",
    }


def ratings(found: Rated, compared: pd.DataFrame) -> Note:
    """What five level means hide."""
    table = compared.set_index("predictor")
    budget, bare = table.loc["budget"], table.loc["status alone"]
    return {
        "en": f"Over the five level means the budget correlates at {budget['level_means_r']:.2f} with appropriateness (the paper "
        f"has {LEVEL_MEANS_R}); so does the bare status flag, at {bare['level_means_r']:.2f}. Over single dialogues Spearman's "
        f"ρ is {budget['spearman']:.2f} [{budget['low']:.2f}, {budget['high']:.2f}] for the budget and {bare['spearman']:.2f} for "
        f"the flag; within successes the budget has {budget['within_success']:.2f}, within failures "
        f"{budget['within_failure']:.2f}. Level means do not show how well single dialogues are judged. (Success is part of "
        f"these ratings by construction.) {found.spent_successes:.0%} of the successful dialogues end without budget, as "
        f"in the paper; patience that varies between workers suffices for that. Status accuracy is "
        f"{found.accuracy['accuracy']:.2f}; with the true costs and the usual patience it would be {found.ceiling:.2f}.",
        "zh": f"在五个水平均值上，剩余预算与恰当性的相关系数为 {budget['level_means_r']:.2f}（论文为 {LEVEL_MEANS_R}）；单凭成败标记也有 "
        f"{bare['level_means_r']:.2f}。逐段对话的 Spearman ρ：预算为 {budget['spearman']:.2f} "
        f"[{budget['low']:.2f}, {budget['high']:.2f}]，成败标记为 {bare['spearman']:.2f}；在成功对话内部预算为 "
        f"{budget['within_success']:.2f}，在失败对话内部为 {budget['within_failure']:.2f}。水平均值说明不了对单段对话判断得有多好。"
        f"（这里的评分在构造上就包含成败。）成功的对话中有 {found.spent_successes:.0%} 结束时已无预算，与论文一致；只要各人的耐心有差异就会如此。"
        f"状态准确率为 {found.accuracy['accuracy']:.2f}；若知道真实代价与通常的耐心，可达 {found.ceiling:.2f}。",
    }


def proxies(found: Rated, compared: pd.DataFrame) -> Note:
    """Budgets of people's own dialogues, where status and goal are only guessed."""
    table = compared.set_index("predictor")
    budget, bare = table.loc["budget"], table.loc["status alone"]
    return {
        "en": f"USS tells neither goal nor success; both are read off the acts of its dialogues, not off ratings. Over "
        f"{len(found.ratings):,} held-out dialogues the budget and the overall rating have Spearman's ρ "
        f"{budget['spearman']:.2f} [{budget['low']:.2f}, {budget['high']:.2f}], the guessed status alone {bare['spearman']:.2f}.",
        "zh": f"USS 既不给目标也不给成败，两者都由对话行为推得，而不看评分。在 {len(found.ratings):,} 段留出的对话上，预算与总评的 Spearman ρ 为 "
        f"{budget['spearman']:.2f} [{budget['low']:.2f}, {budget['high']:.2f}]，单凭推得的成败为 {bare['spearman']:.2f}。",
    }


def mistold(measured: pd.DataFrame, gamma: float) -> Note:
    """What a wrong γ costs, beside no γ at all."""
    right = of(measured, TOLD_GAMMA.format(gamma=gamma), "step_r")
    wrong = {
        name: of(measured, name, "step_r")
        for name in measured["method"].unique()
        if name not in (PLAIN, TOLD_GAMMA.format(gamma=gamma))
    }
    plain = of(measured, PLAIN, "step_r")
    en = ", ".join(f"{value:.2f} with {name}" for name, value in wrong.items())
    zh = "，".join(f"{name} 时为 {value:.2f}" for name, value in wrong.items())
    return {
        "en": f"The paper takes γ as known. The users look forward with γ = {gamma:g}; told so, the fit has a step correlation of "
        f"{right:.2f}. Told a wrong γ it has {en}; told of no looking forward at all, {plain:.2f}.",
        "zh": f"论文假定 γ 已知。用户的 γ 为 {gamma:g}；以此拟合，逐轮相关为 {right:.2f}。若给错 γ：{zh}；完全不考虑前瞻则为 {plain:.2f}。",
    }


def timeouts(measured: pd.DataFrame, share: float, most: int) -> Note:
    """What counting the limit's dialogues as failures does."""
    drop, failed, censored = (of(measured, way, "step_r") for way in TIMEOUTS)
    return {
        "en": f"With a limit of {most} turns {share:.0%} of the dialogues end by it, with patience left. Left out of the fit, the step "
        f"correlation on dialogues without that limit is {drop:.2f}; counted as failures, which they are not, {failed:.2f}; "
        f"kept as dialogues of which only is known that budget was left, {censored:.2f}.",
        "zh": f"若限定至多 {most} 轮，{share:.0%} 的对话因此中止，而用户尚有耐心。拟合时略去这些对话，在不设此限的对话上逐轮相关为 {drop:.2f}；"
        f"当作失败（其实不是）为 {failed:.2f}；只记作“当时仍有预算”则为 {censored:.2f}。",
    }


def seeds(repeated: pd.DataFrame) -> Note:
    """How much of it all is one draw."""
    steps = repeated[repeated["measure"] == "step_r"]["value"]
    slopes = repeated[repeated["measure"] == "slope"]["value"]
    return {
        "en": f"Dialogues drawn and fitted anew under {len(steps)} seeds (full loss, v_b = −1): step correlation "
        f"{steps.min():.3f} to {steps.max():.3f}, slope {slopes.min():.2f} to {slopes.max():.2f}.",
        "zh": f"换 {len(steps)} 个种子重新采集并拟合（完整损失，v_b = −1）：逐轮相关 {steps.min():.3f} 到 {steps.max():.3f}，"
        f"斜率 {slopes.min():.2f} 到 {slopes.max():.2f}。",
    }
