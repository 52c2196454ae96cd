"""English text of the skill scenario. Courses and prices are invented."""

# name: goals, four phases, drills, resources, gear (name, price), noisy, needs the body
SKILLS = {
    "the guitar": (
        ["play five whole songs", "play a song for friends"],
        ["strings and fingering", "chord changes", "strumming", "whole songs"],
        ["the finger crawl", "changing from C to G", "four-beat strumming", "singing along"],
        ["an open beginners' guitar course", "a free chord book", "a practice forum"],
        ("an acoustic guitar", 70),
        True,
        False,
    ),
    "Spanish": (
        ["hold an everyday conversation", "pass an A2 test"],
        ["sounds and greetings", "the present tense", "the past tense", "free conversation"],
        ["repeating short sentences", "learning frequent words", "a three-line diary", "a slow podcast"],
        ["an open beginners' Spanish course", "a set of word cards", "a slow-Spanish podcast"],
        ("a textbook and cards", 18),
        True,
        False,
    ),
    "photography": (
        ["make a set of prints", "take a good portrait"],
        ["exposure", "composition", "light", "editing"],
        [
            "aperture comparisons",
            "ten shots of one object",
            "shooting against the light",
            "weekly picture selection",
        ],
        ["an open phone-photography course", "a composition casebook", "a weekly theme group"],
        ("a tripod", 25),
        False,
        False,
    ),
    "swimming": (
        ["swim 500 metres without a break", "learn the breaststroke with breathing"],
        ["getting used to the water", "leg work", "arms and breathing", "distance"],
        ["floating", "kicking with a board", "one-arm strokes", "the full stroke"],
        ["a stroke breakdown series", "a dry-land drill sheet", "a local swimmers' group"],
        ("goggles and a cap", 22),
        False,
        True,
    ),
    "Python": (
        ["write a script that tidies spreadsheets", "build a small website"],
        ["basic syntax", "working with data", "a small project", "tidying and publishing"],
        ["typing out examples", "rewriting a function", "reading a spreadsheet", "fixing an error"],
        ["a free beginners' tutorial", "an exercise bank", "a small open-source project"],
        ("a reference book", 20),
        False,
        False,
    ),
    "calligraphy": (
        ["write a wedding invitation", "copy out a whole poem"],
        ["grip and posture", "basic strokes", "letter shapes", "layout"],
        ["a page of strokes", "eight letters", "tracing", "a full layout"],
        ["an introductory pen course", "a letter card set", "a feedback group"],
        ("pens, ink and paper", 24),
        False,
        False,
    ),
    "yoga": (
        ["complete a sixty-minute practice", "ease stiff shoulders"],
        ["breathing and warming up", "standing poses", "balance and shoulders", "a full sequence"],
        ["belly breathing", "the cat-cow", "the downward dog", "the sun salutation"],
        ["a home yoga series", "a pose chart", "an online practice club"],
        ("a yoga mat", 18),
        False,
        True,
    ),
    "the piano": (
        ["play three short pieces", "play a nursery song with both hands"],
        ["notes and fingering", "one hand at a time", "both hands", "polishing pieces"],
        ["the five-finger exercise", "the C major scale", "separate hands", "slow hands together"],
        ["an adult piano course", "an easy sheet-music set", "a metronome app"],
        ("a portable keyboard", 95),
        True,
        False,
    ),
    "drawing": (
        ["draw a good still life", "draw a portrait of someone in the family"],
        ["lines and proportion", "solids", "light and shade", "still life"],
        ["a page of hatching", "three cubes", "a five-tone scale", "a cup from life"],
        ["an open drawing course", "a still-life photo set", "a daily sketch forum"],
        ("a board and pencils", 20),
        False,
        False,
    ),
    "public speaking": (
        ["give a ten-minute talk", "speak up calmly in meetings"],
        ["structure and opening", "voice and pauses", "gesture and eye contact", "full rehearsals"],
        ["a one-minute introduction", "listening back", "mirror practice", "a timed talk"],
        ["an open course on talks", "an opening-line card set", "an online speakers' circle"],
        ("a phone stand", 9),
        True,
        False,
    ),
    "chess": (
        ["reach a club-level rating", "beat a colleague at lunch"],
        ["rules and mates", "tactics", "openings", "games and review"],
        ["ten tactics puzzles", "a king-and-pawn ending", "one master game", "reviewing a game"],
        ["a beginners' chess series", "a puzzle app", "an online playing site"],
        ("a board and pieces", 15),
        False,
        False,
    ),
    "baking": (
        ["bake a proper loaf", "make a birthday cake"],
        ["tools and weighing", "biscuits", "bread", "cakes"],
        ["weighing practice", "a tray of biscuits", "kneading to the windowpane", "whisking egg whites"],
        ["an open home-baking course", "a recipe table", "a bakers' help group"],
        ("scales and tins", 26),
        False,
        False,
    ),
}
LEVELS = [
    ("a complete beginner", "I'm a complete beginner"),
    ("someone who has tried it once or twice", "I've tried it once or twice"),
    ("someone who learnt it long ago", "I learnt some long ago but forgot most of it"),
]
TASKS = [
    "You want to learn {skill} within {months} months as {level}. You have at most {hours} hours a week and no more than £{budget}; by the end you would like to {goal}. {limits}With an AI assistant, settle a schedule and resources that you can really keep up.",
    "Out of interest you take up {skill} as {level}; in {months} months you want to {goal}. {hours} hours a week and £{budget} are available. {limits}Use the conversation to arrive at a plan that follows how people learn.",
]
OPENINGS = {
    "terse": [
        "How do I learn {skill}? {ownlevel}, {hours} hours a week, {months} months, under £{budget}. {limits}",
        "Plan for {skill}: {months} months, goal: {goal}, {hours} hours a week, £{budget} max. {limits}",
    ],
    "polite": [
        "Hello, I'd like to learn {skill} in {months} months. {ownlevel}, with about {hours} hours a week and up to £{budget}, and my goal is to {goal}. {limits}Could you make me a plan?",
        "Could you please plan how I can learn {skill}? {ownlevel}. I have {months} months, {hours} hours a week and £{budget}, and hope to {goal}. {limits}Thank you.",
    ],
    "chatty": [
        "I've always wanted to take up {skill} but never kept at it. This time I'm giving it {months} months. {ownlevel}, I can squeeze out {hours} hours a week and £{budget}, and I'd love to {goal}. {limits}How would you go about it?",
        "A colleague got me interested in {skill}. {ownlevel}, I have {hours} hours a week for {months} months, and I'd be happy to {goal}; £{budget} is my limit. {limits}Please draw up a plan.",
    ],
}
LIMITS = {
    "hours": (
        "",
        "",
        [
            "Time: about {week} hours a week, inside the {hours} you have.",
            "It adds up to {week} hours a week, so below your {hours}, with a little slack.",
        ],
        [
            "To learn it properly you need at least {over} hours a week; other things can wait.",
            "This plan takes about {over} hours a week, and the effort pays off.",
        ],
        ("plan", "week"),
    ),
    "budget": (
        "",
        "",
        [
            "Cost: about £{total} with equipment, so within £{budget}.",
            "In total around £{total}, under your £{budget}, as most resources are free.",
        ],
        [
            "I suggest a one-to-one course with a master teacher, £{dear} for the term; nothing is faster.",
            "To avoid detours, buy the £{dear} premium class with everything included.",
        ],
        ("plan", "resources"),
    ),
    "noise": (
        "You cannot make any noise after nine in the evening. ",
        "I can't make any noise after nine in the evening. ",
        [
            "Everything noisy is done before nine; after that there is only reading and watching.",
            "After nine it is silent work only: videos with headphones, or practice in your head.",
        ],
        [
            "It is quietest after half past ten at night, so practise out loud for an hour then.",
            "Forty minutes of loud practice at eleven, right before bed, sticks best.",
        ],
        ("week", "plan"),
    ),
    "home": (
        "You want to learn at home, not in a class. ",
        "I only want to learn at home, no classes. ",
        [
            "All of it can be done at home; there is no class to go to.",
            "You don't have to go out: lessons and practice are both online.",
        ],
        [
            "Go to an evening class three times a week, an hour each way; the atmosphere helps.",
            "Be sure to join a weekend camp on site, all day Saturday and Sunday.",
        ],
        ("plan", "week", "resources"),
    ),
    "knees": (
        "An old knee injury rules out intense movement. ",
        "I have an old knee injury, so nothing intense. ",
        [
            "Because of the knee, everything is low-impact; stop if it hurts.",
            "Jumps and deep squats are left out, and you should be able to talk throughout.",
        ],
        [
            "Warm up with a hundred jump squats every time, then three sprints.",
            "Go all out; an aching knee is normal, just push through.",
        ],
        ("plan", "week"),
    ),
    "weekday": (
        "Weekdays are too busy, so only the weekend is free. ",
        "Weekdays are full, I can only do weekends. ",
        [
            "Everything is on Saturday and Sunday; there is nothing on weekdays.",
            "Only the two days of the weekend are used, and weekdays stay free.",
        ],
        [
            "Practise for an hour every evening from Monday to Friday without missing one.",
            "Get up forty minutes early each weekday and take the weekend off.",
        ],
        ("week", "plan"),
    ),
    "screen": (
        "Your eyes tire easily, so no long hours at a screen. ",
        "My eyes tire easily, so not too much screen please. ",
        [
            "No more than twenty minutes of screen at a time; the rest is on paper or by hand.",
            "For your eyes, it is mostly listening and doing, with short clips only.",
        ],
        [
            "Watch the videos for three hours every day; that covers the most ground.",
            "Binge the whole course at four hours of screen a day.",
        ],
        ("plan", "resources", "week"),
    ),
    "project": (
        "What you learn should be of use soon. ",
        "I'd like to use what I learn early on. ",
        [
            "From week three on, you have something small to show and use.",
            "Each phase ends with a small piece of work, so you use it right away.",
        ],
        [
            "For the first three months study theory only, and don't think about using it.",
            "Memorise the textbook from cover to cover first; applying it can wait.",
        ],
        ("plan", "progress"),
    ),
}
FOCUS = {
    "plan": {
        "asks": [
            "Could you go over the whole plan again? What do I learn in each phase?",
            "How do the {months} months break down into phases?",
            "Tell me more about the schedule, phase by phase",
        ],
        "title": ["Routes", "Ways to learn it", "Which route to take"],
        "body": ["Phases", "Phase by phase", "Schedule"],
        "options": [
            ("Structured self-study", "step by step and the cheapest"),
            ("Project first", "choose a piece of work and learn what it needs"),
            ("Follow-along course", "no planning, you simply follow"),
            ("Small group", "company and a nudge, if times fit"),
            ("Intensive start", "a dense beginning, then review"),
        ],
        "facts": [
            "about {week} hours a week in {times} sessions",
            "around £{part}, mostly for {gear}",
            "by week {w1} you can manage {drill}",
            "{mins} minutes a session, {rev} of them for review",
        ],
        "steps": [],
        "tips": [
            "Save {res} today and order {gear}; until it comes, make do with what you have.",
            "Book fixed slots in your calendar; a missed one moves to Sunday, never to next week.",
            "Record thirty seconds every Sunday and save it; after four weeks the difference is plain.",
            "Order {gear} from a shop where you can return it within a week.",
        ],
        "vague": [
            "Perseverance is what matters.",
            "Adjust the pace to whatever suits you.",
            "Interest is the best teacher, so take your time; it depends.",
        ],
    },
    "week": {
        "asks": [
            "What would a week look like, day by day?",
            "Please draw up a weekly timetable",
            "How long is each session, and what do I practise?",
        ],
        "title": ["Ways to split the week", "How to spread the time", "Weekly patterns"],
        "body": ["A week", "What each session holds", "Practice"],
        "options": [
            ("Little and often", "sticks best, light each time"),
            ("Two long sessions", "for people with free blocks of time"),
            ("One on, one off", "good for recovery"),
            ("Mornings", "few distractions, needs an early night"),
            ("All at the weekend", "weekdays stay free"),
        ],
        "facts": [
            "{times} sessions of {mins} minutes",
            "about {week} hours in all",
            "{rev} minutes to warm up, {main} of main practice",
            "an easy week after every {two}",
        ],
        "steps": [
            (
                "First session",
                "go over old material",
                "{rev} minutes of review, {main} on {drill}, note 3 mistakes",
            ),
            (
                "Second session",
                "learn something new",
                "{main} minutes of new material, {rev} on {drill2}, keep 1 recording or photo",
            ),
            (
                "Third session",
                "put it together",
                "{mins} minutes all the way through, {two} rounds each of {drill} and {drill2}",
            ),
            (
                "Weekend check",
                "look back",
                "{rev} minutes to mark yourself out of 10; anything below {n} comes back next week",
            ),
        ],
        "tips": [
            "Book three fixed slots in your phone calendar with a reminder ten minutes before.",
            "Print the checklist, tick things off, and save a photo every week.",
            "If you are worn out, do five minutes rather than cancel, and make it up the next day.",
        ],
        "vague": [
            "How you arrange it depends on you.",
            "A little every day will take you far.",
            "Balance work and rest, whatever suits you.",
        ],
    },
    "resources": {
        "asks": [
            "Which resources do you recommend? Free ones if possible",
            "Any courses and tools for under £{budget}?",
            "Which course or book should I use?",
        ],
        "title": ["Resources", "What to use", "Useful material"],
        "body": ["How to use it", "In which order", "How they fit together"],
        "options": [
            ("{Res}", "thorough, a good base"),
            ("{Res2}", "quick practice in spare minutes"),
            ("A beginners' book from the library", "free and easy to look things up in"),
            ("A series of short clips", "easy to follow, but patchy"),
            ("A practice community", "people comment on your work"),
        ],
        "facts": [
            "{lessons} lessons of {mins2} minutes",
            "{price_res}",
            "complete up to lesson {lessons2}, best used before week {w1}",
            "rated {rating} out of 10 by {reviews} learners",
        ],
        "steps": [
            (
                "Base",
                "begin with the basics",
                "for {w1} weeks only {res}, {mins2} minutes at a time, 1 page of notes",
            ),
            ("Practice", "add some practice", "after every {two} lessons, {mins2} minutes with {res2}"),
            (
                "Questions",
                "look it up or ask",
                "if stuck for {rev} minutes, ask in a forum with 1 photo or recording",
            ),
        ],
        "tips": [
            "Try two lessons before you order; you can cancel on the order page for a week.",
            "Save the table of contents as a checklist and keep to one main course.",
            "The library app lets you book a copy, and you can call to renew it once.",
        ],
        "vague": [
            "There is plenty online, so just have a search.",
            "The best one is whatever suits you.",
            "Compare a few; it depends on your taste.",
        ],
    },
    "progress": {
        "asks": [
            "How do I know how I'm doing? Is there a way to check?",
            "How do I test myself after each phase?",
            "How long until I see results, and how do I measure them?",
        ],
        "title": ["Ways to check", "How to measure it", "Some tests"],
        "body": ["Milestones", "Phase by phase", "Checkpoints"],
        "options": [
            ("Record and compare", "the plainest, and you need nobody"),
            ("Show a friend", "some pressure, some feedback"),
            ("A self-test", "shows exact weak points"),
            ("An exam or event", "clear standards, needs signing up"),
            ("A small piece of work", "something you can hold"),
        ],
        "facts": [
            "every {two} weeks, {rev} minutes each time",
            "the pass mark is {rate}% right",
            "by week {w1} you should manage {drill} alone",
            "keep {n} days to work on weak spots",
        ],
        "steps": [
            (
                "First checkpoint",
                "see how the basics are",
                "week {w1}: {drill} on your own with no more than {two} mistakes",
            ),
            ("Halfway", "check on progress", "week {w2}: {drill2}, {n} times in a row, {rate}% right"),
            ("The end", "see whether you got there", "week {w3}: {goal}; keep 1 video of it"),
        ],
        "tips": [
            "Record the first day and save it; use the same piece at each checkpoint.",
            "Book the check days in your calendar and ask a friend along; move them, never cancel.",
            "Save a score sheet in a shared document; two misses in a row mean going back one phase.",
        ],
        "vague": [
            "Progress comes slowly, so don't worry too much.",
            "It depends on the person; if it feels better, it is.",
            "Don't compare yourself with others.",
        ],
    },
    "stuck": {
        "asks": [
            "What if I can't keep it up?",
            "If I miss a week or two, how do I catch up?",
            "What do I do when I lose steam halfway?",
        ],
        "title": ["What helps", "How to adjust", "Some ways out"],
        "body": ["After a break", "Steps back in", "How to restart"],
        "options": [
            ("Lower the bar", "a little each time, until the rhythm is back"),
            ("Change the form", "same content, another exercise"),
            ("Find a partner", "you nudge each other"),
            ("Set a small reward", "something to look forward to"),
            ("Cut something", "a smaller goal, but a finished one"),
        ],
        "facts": [
            "{rev} minutes a time, {n} days in a row",
            "about {two} weeks back to full strength",
            "go back to week {w1} first",
            "keep the reward under £{small}",
        ],
        "steps": [
            ("First day", "do something easy", "only {rev} minutes of {drill}, then stop"),
            ("First week", "come back slowly", "add {two} minutes each time, {drill2} in {times} sessions"),
            (
                "Second week",
                "return to normal",
                "back to {mins} minutes a session, plus {n} missed exercises",
            ),
        ],
        "tips": [
            "Leave your equipment in sight and save a five-minute version of the list on your phone.",
            "Book a seven-day challenge in a habit app; most let you make up one missed day.",
            "Call your partner and agree on a check every Sunday; whoever is absent buys the coffee.",
        ],
        "vague": [
            "Perseverance is everything.",
            "Think about why you started.",
            "Relax and take it easy, whatever suits you.",
        ],
    },
}
PHASE = (
    "work on {phase} and build a base",
    "{times} sessions a week of {mins} minutes on {phase}, mainly {drill}; move on at the end of week {end} when it works {n} times in a row",
    "Weeks {a} to {b}, {phase}",
)
AWAY = {"swimming"}  # cannot be learnt at home
