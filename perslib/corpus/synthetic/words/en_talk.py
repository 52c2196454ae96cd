"""English text of the conversation itself: how users react and how the assistants frame a reply."""

DEMANDS = {  # what a user asks for when a quality is missing
    "detail": [
        "Can you be more specific? Times and numbers would help",
        "That's too general, please spell out each step",
        "Please go into more detail so that I can follow it",
        "More detail please, with amounts and times",
        "Could you make it more detailed?",
    ],
    "diversity": [
        "Are there other choices? Give me a few to compare",
        "Could I have several alternatives and how they differ?",
        "Is that all? Show me some different ones",
        "Please list some more options and what sets them apart",
    ],
    "requirement": [
        "I did say: {said}. Please redo it with that in mind",
        "Don't forget: {said}. Another version please",
        "This doesn't take my request into account: {said}",
        "One thing to fix: {said}",
    ],
    "practicality": [
        "How do I actually do this? Where do I book or buy?",
        "Sounds sensible, but I don't know where to start. Something I can use directly please",
        "Any advice I can act on right away?",
        "What about the practical side: where to order and what to watch for?",
    ],
    "format": [
        "It's a bit messy, could you put it in bullet points?",
        "Can you turn this into a list or a table?",
        "A clearer layout please, with a few headings",
    ],
    "brevity": [
        "Too long, just the key points please",
        "Shorter please, only what matters most",
        "Could you cut it down to a few sentences?",
    ],
    "length": ["Please write more about it, the fuller the better", "Could you expand on that a bit?"],
}
COMPLAINTS = {  # said together with the demand
    "detail": ["That tells me nothing.", "This is no help.", "That's a lazy answer."],
    "diversity": [
        "The same answer again.",
        "You keep giving me the same thing.",
        "Everyone knows these, it's useless.",
    ],
    "requirement": [
        "You misunderstood my question.",
        "That's not what I asked for.",
        "You didn't read what I wrote.",
        "That's wrong.",
    ],
    "practicality": [
        "Just empty words, this is useless.",
        "Nice words, but I can't do anything with that.",
        "That's no help.",
    ],
    "format": ["This is a mess to read.", "I can't make out the point, it's all over the place."],
    "brevity": ["Way too long.", "You're rambling."],
    "length": ["Is that it? This is no help.", "That's a lazy answer."],
}
REPHRASE = [
    "What I mean is: {request}",
    "In other words: {request}",
    "Let me rephrase: {request}",
    "To say it again: {request}",
]
THANKS_THEN = [
    "Thanks, that helps. {request}",
    "Great, that's clear now. {request}",
    "Lovely, thank you! {request}",
    "Okay, good. {request}",
]
THANKS_LAST = ["Thanks, I'll go with that.", "Great, thank you!", "Very helpful, thanks."]
DISMISS = ["Never mind.", "Forget it.", "Never mind, I'll look it up myself.", "Forget it, whatever."]
GREETINGS = ["Hi", "Hello there", "Hi, quick question", "Hello, are you there?"]
BRIDGES = ["", "", "", "Also, ", "Right. ", "Okay. ", "Next, "]

# how an assistant opens: by voice and situation
OPENERS = {
    "warm": [
        "Of course, I'd be glad to help you plan this.",
        "No problem, let me think this through for you.",
        "Got it; here is what I have put together.",
        "That's a good question, so let's take it step by step.",
    ],
    "plain": [
        "Sure.",
        "Here is one way to do it.",
        "This is what I would suggest.",
        "I have put it together below.",
    ],
    "brisk": ["Straight to the point.", "In short:", "Here you go.", ""],
}
ACKS = {
    "detail": [
        "I have filled in the times and amounts.",
        "This version goes into more detail.",
        "All right, spelled out point by point.",
    ],
    "diversity": [
        "Here are some different choices.",
        "I went in a few other directions for you to compare.",
        "Below are some further alternatives.",
    ],
    "requirement": [
        "Sorry for missing that; this version follows your request.",
        "You are right, I have changed it as you asked.",
        "Understood, I have gone over your request again.",
    ],
    "practicality": [
        "This time only things you can do directly.",
        "I have added where and how.",
        "All right, here is how to make it happen.",
    ],
    "format": ["I have laid it out again, point by point.", "Here it is, sorted into items."],
    "brevity": ["All right, just the key points.", "The short version:"],
    "length": ["All right, here is a fuller version.", "Let me expand on it."],
}
CLOSERS = {
    "warm": [
        "If there is anything you would like to change, just tell me, and have a great time!",
        "I hope this helps, and we can refine it together.",
        "I look forward to hearing how it goes!",
    ],
    "plain": ["Tell me if something should change.", "We can adjust whatever does not fit.", ""],
    "brisk": ["", "", "Ask if anything is unclear."],
}
FILLER = [
    "On the whole, the more clearly you think it through at the start, the easier everything becomes later on, as many people have found.",
    "Everybody's situation is different, so take this as a reference and find a rhythm that feels comfortable.",
    "Small changes are bound to come up along the way, and patience and a good mood matter just as much.",
    "It is really not as hard as it may seem; once you have taken the first step, the rest tends to follow.",
    "Many people hesitate when they arrange something like this for the first time, which is perfectly normal and nothing to worry about.",
    "In the long run, this will not only solve the matter at hand but also give you experience for later.",
    "And don't forget to enjoy the process itself, because the small surprises are often what stays with us.",
    "Taking everything into account, I think the overall idea is sound, and all that remains is to move ahead steadily.",
]
HEADINGS = {
    "limits": ["Checked against your wishes", "Your requirements", "A few confirmations"],
    "tips": ["Practical tips", "Things to do right away", "How to make it happen"],
    "vague": ["A last word", "Please remember"],
}
ORDINALS = ["1", "2", "3", "4", "5"]
OPTION = "Option {n}: {name}"
OPTION_PROSE = "Option {n}: {name}"
DAY, STEP = "Day {n}", "Step {n}"
TABLE = ("Option", "Character", "Notes")
SAID = {  # the limits that stand in numbers, as a user repeats them
    "travel": {"budget": "the budget is £{budget} per person", "days": "we only have {days} days"},
    "gift": {"budget": "£{budget} is the most I can spend", "deadline": "I need it in {left} days"},
    "recipe": {"time": "I have {minutes} minutes at most"},
    "skill": {"hours": "{hours} hours a week is all I have", "budget": "it has to stay under £{budget}"},
}
REASONS = {
    "other": "other",
    "diversity": "insufficient diversity",
    "practicality": "unusable",
    "detail": "insufficient detail",
    "requirement": "requirement not met",
}
SCENARIOS = {"travel": "travel", "gift": "gift", "recipe": "recipe", "skill": "skill"}

# What an assistant thinks aloud: to the point, but neither concrete nor advice.
THOUGHTS = {
    "travel": [
        "It pays to settle where you sleep before the sights, as that saves going back and forth.",
        "The first and last days go mostly on the journey, so the highlights belong in the middle.",
        "Places in the same direction go on the same day, which is less tiring than going by fame.",
        "Meals and rests matter just as much as sights when you are away.",
        "Busy places feel entirely different outside the rush.",
        "One stop fewer is better than hurrying every day.",
        "When people differ in stamina, it is safest to plan around the slowest walker.",
        "Weather and crowds are the great unknowns, so each day has something you could drop.",
        "Most of the money goes on rooms and travel; food can be as simple or as grand as you like.",
        "Old quarters are best on foot by day, and the waterside is best towards evening.",
    ],
    "gift": [
        "With presents, look at the person's daily life first, then the occasion, and only then the price.",
        "Things in daily use are remembered, because each use brings back who gave them.",
        "For the same money, a small thing of the best kind tends to please more than a big one that is so-so.",
        "The more formal the occasion, the more wrapping and card belong to the present.",
        "If you are unsure about size and taste, choose something that has neither.",
        "What somebody has long wanted but would not buy is usually the right answer.",
        "A present need not say everything; a line to go with it often moves people more.",
        "When time is short, something in stock is more reassuring than something made to order.",
        "The closer you are, the more personal it may be; otherwise choose something tasteful and useful.",
        "Picture the first reaction when it is opened, and you will know whether it fits.",
    ],
    "recipe": [
        "A meal wants one slow dish, one quick one and one that needs no watching, and then there is no rush.",
        "One rich and one light flavour are pleasant to eat and easy to organise.",
        "Chopping is most of the work, so once that is done everything runs smoothly.",
        "With few people you don't need many dishes; good portions served hot matter more.",
        "Meat gives the main flavour, vegetables refresh, and a soup or salad rounds things off.",
        "What can simmer need not be fried, and what fits in one pot need not take two.",
        "The simplest way to respect what people cannot eat is to leave it out of the ingredients.",
        "Beginners tend to hurry the heat, although most dishes are happy to go slowly.",
        "Season lightly: you can always add more, but never take it out again.",
        "Using an ingredient in two dishes saves shopping and washing.",
    ],
    "skill": [
        "The hardest part of anything new is the first fortnight, so the bar has to be low at the start.",
        "The gap between sessions matters more than their length; too long a gap means starting over.",
        "Use it first, understand it next and polish it last: that order suits most people.",
        "Each phase has one main point, and the rest is practised along the way.",
        "Progress often comes suddenly after a plateau, so a standstill is nothing unusual.",
        "A small result that you can show keeps people going better than finishing chapters.",
        "You don't need much material: one main line to the end, the rest for reference.",
        "Review has to be part of the plan, or the old slips away as fast as the new comes in.",
        "With fixed times you don't have to argue with yourself every day.",
        "A goal should be concrete enough to tell whether you reached it.",
    ],
}
THOUGHTS_TITLE = ["The idea", "Thinking behind it", "How I see it"]
FILLER += [
    "Many people have come across this question, and everyone's approach has something to be said for it.",
    "Whatever you decide in the end, the care you put into it is already a fine thing.",
    "Even the best plan meets surprises now and then, so take it as it comes.",
    "As long as the direction is right, a little more time and thought is well spent.",
    "I hope the whole process will be relaxed and pleasant for you.",
    "I will try to see it from your side as far as I can, so that it comes close to what you have in mind.",
]

# A first sentence that takes up the task, and what is said for an option beyond how it differs.
INTROS = {
    "travel": [
        "From {origin} to {dest} for {days} days, {who_task}: that is the pace I have in mind.",
        "For the {days} days in {dest}, I try to keep the route smooth, with no going back and forth.",
        "Let me put the {days} days in {dest} in order first and then go into the rest.",
        "In {dest}, {who_task}, comfort matters more than ticking things off, and everything below follows that.",
    ],
    "gift": [
        "A present for {who_task} ({occasion}), so I am thinking of up to £{budget}.",
        "With {left} days to go there is enough time, but it should not be put off much longer.",
        "It is for {who_task}, and for this occasion ({occasion}), so it has to suit both the day and the person.",
        "For {who_task} I lean towards something close to daily life.",
    ],
    "recipe": [
        "That makes {count} dishes, {portions}, and I planned them around {minutes} minutes.",
        "With {count} dishes, the first thing is to see which one leads.",
        "For {count} dishes the trick is not to have everything frying at the end.",
        "It sounds like a lot, {count} dishes, but in the right order it is no strain.",
    ],
    "skill": [
        "To learn {skill} in {months} months with {hours} hours a week is quite possible; it is all in how you divide it.",
        "As the aim is to {goal}, I planned backwards from there.",
        "You can take up {skill} as {level}; the first thing is to find a rhythm.",
        "With {months} months for {skill}, steady comes first and polish later.",
    ],
}
WHY = {
    "travel": [
        "If you like stopping wherever you please, it puts no pressure on you.",
        "When tastes differ, this is the easiest to agree on.",
        "For a first visit, it is a safe pair of hands.",
        "It still works if the day before was tiring.",
        "Consider it if you want some time left for yourself.",
        "It asks for the least preparation.",
    ],
    "gift": [
        "When you are unsure about someone's taste, it is hard to get wrong.",
        "Even people of few words tend to be pleased with it.",
        "Consider it if you would like it to be used straight away.",
        "It is right for someone you are close to.",
        "If you don't want to make a fuss, it has just the right weight.",
        "It is the cautious choice.",
    ],
    "recipe": [
        "Even if you are slow, there is no panic.",
        "With mixed tastes at the table, everyone finds something.",
        "If you seldom cook, this is a steady place to start.",
        "Choose it if you want something lighter.",
        "A small kitchen is enough for it.",
        "Cleaning up afterwards is no trouble either.",
    ],
    "skill": [
        "People who tend to give up find it easier to stay with.",
        "It is the easiest to fit into odd moments.",
        "If you like one firm step after another, you will feel at home with it.",
        "Take it first if you want to see results early.",
        "If your days are tiring already, it asks the least of you.",
        "Those who like to figure things out will enjoy it.",
    ],
    "other": [
        "If you are unsure, start here.",
        "Choose it for less fuss.",
        "It suits a tight schedule better.",
        "If you are not in a hurry, it is more enjoyable.",
        "Of these, it is the safer one.",
        "If you don't mind a little more effort, it is worth it.",
    ],
}
