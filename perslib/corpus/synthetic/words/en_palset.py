"""English text of synthetic PAL-Sets: what people need, what speaks for it, which kinds of solutions there are."""

SURNAMES = ["Baker", "Hughes", "Patel", "Morris", "Okafor", "Walsh", "Lindgren", "Costa", "Reed", "Novak"]
GIVEN = {
    "Male": ["Daniel", "Marcus", "Oliver", "Samuel", "Victor", "Leo", "Adrian", "Paul"],
    "Female": ["Grace", "Nadia", "Helen", "Laura", "Ingrid", "Sofia", "Clara", "Joan"],
}
GENDERS = {"Male": "Male", "Female": "Female"}
WORK = [
    "There are always several small things on the go at once. {p} is the one they deal with most.",
    "The job is rarely quiet, least of all at the end of a month. {p} helps out at times, but most of it stays with them.",
    "They know their way around by now, though much has changed lately. Only results count, and the pressure is felt.",
]
HEALTH = [
    "There is no serious illness, but sleep is light and long sitting leaves the neck stiff. A few values of the last check-up were near the limit.",
    "Stamina is fair; the eyes tire easily and the weight has crept up over two years. Someone in the family has high blood pressure, so meals get more thought.",
    "Hours are irregular and exercise comes and goes. The doctor has asked for earlier nights, less salt and more walking.",
]
FAMILY = {
    "alone": "The user lives alone during the week and spends most weekends at the parents' house, where everyone shares the housework. For advice there is {p}.",
    "partner": "The user lives with a partner; both work and they take turns at the housework. The parents live nearby and are seen at weekends.",
    "child": "The user is married and has a child at primary school. Both parents work, so school runs and homework are settled day by day.",
    "parents": "The user lives with the parents, who are in fair health but need an eye on them when the weather turns. Most of the shopping falls to the user.",
    "friends": "The user shares a flat with friends, and housework goes by turns. The parents live not too far away, and there is a visit every week or two.",
}
HOBBIES = "In their free time the user enjoys {interests}. Time is short, so it mostly happens on a whim; lately they would like to make it more regular."
JOB = "The user is {a_job} with a background in {background}."

THEMES = {
    "work": [
        {
            "type": "Getting working hours under control in busy weeks",
            "goal": "get the open tasks in order so that there is rest without missing the deadline",
            "do": "sort out the open tasks",
            "queries": [
                "There is far too much on my desk lately, any ideas?",
                "I never get to the end of my work. What can I do?",
            ],
            "needs": [
                (
                    "hand in a first version by Friday",
                    "a first version is due on Friday",
                    "mail reminder: first version closes on Friday at 17:00",
                ),
                (
                    "have half an hour of undisturbed lunch break",
                    "even lunch is eaten at the keyboard",
                    "health app: {n} lunch breaks under ten minutes this week",
                ),
                (
                    "keep the work going that a colleague left behind",
                    "a colleague's work lies there with nobody to take it on",
                    "from {p}: the handover notes are on the shared drive",
                ),
            ],
        },
        {
            "type": "Preparing a review talk",
            "goal": "prepare a review talk of at most ten minutes",
            "do": "prepare the review talk",
            "queries": [
                "My review is coming up, where do I start?",
                "I have to give a talk next month and feel lost.",
            ],
            "needs": [
                (
                    "boil several years down to two main points",
                    "there is too much material and no main point",
                    "searched “how to find the main points of a report”; viewed two articles",
                ),
                (
                    "stay calm on stage and within time",
                    "the last talk ran over and the nerves were bad",
                    "browsed a video on breathing before a talk",
                ),
                (
                    "give real examples instead of set phrases",
                    "the boss does not want set phrases",
                    "from {p}: tell them what you actually got done",
                ),
            ],
        },
        {
            "type": "Getting used to a new system",
            "goal": "use the new system with ease and few mistakes",
            "do": "learn the new system",
            "queries": [
                "The new system and I don't get on, can you help?",
                "Since the change I keep making mistakes. What now?",
            ],
            "needs": [
                (
                    "import tables in bulk",
                    "one import put {n} rows in the wrong place",
                    "searched the help centre for “bulk import failed”; opened {n} pages",
                ),
                (
                    "find out what an error means without asking",
                    "every error means asking somebody",
                    "searched “error codes table”; saved one",
                ),
                (
                    "keep the daily routine on time meanwhile",
                    "learning it pushes the usual work into the evening",
                    "calendar: daily report moved from 17:00 to 20:00",
                ),
            ],
        },
        {
            "type": "Training a new colleague",
            "goal": "get the new colleague up to speed",
            "do": "show the newcomer the ropes",
            "queries": [
                "We have somebody new in the team, how do I train them?",
                "I'm not good at teaching people. Any advice?",
            ],
            "needs": [
                (
                    "have the newcomer work alone within two weeks",
                    "the newcomer will soon have a shift alone",
                    "calendar: “first shift alone”, the {d}, 9:00, office",
                ),
                (
                    "be interrupted less by the same questions",
                    "the same question came several times in one day",
                    "chat statistics: {n} questions received today",
                ),
                (
                    "point out mistakes without hurting",
                    "one remark was too harsh and the newcomer fell silent",
                    "searched “how to give feedback to a beginner”; viewed {n} answers",
                ),
            ],
            "scene": "Somebody new has joined the team and the user is to train them for a while. The usual work has not become less, so explanations happen in between. {p} has done it before and says the first two weeks matter most.",
            "logs": [
                "searched “onboarding plan”; viewed {n} samples",
                "posted on the internal forum: common questions of the first week",
                "browsed an article on explaining a process clearly",
                "to {p}: could I see your list for new people",
                "from the new colleague: shall I show you the form first",
                "calendar: “walk through the process”, the {d}, 10:00–11:30, desk",
                "shopping site, product: {n} packs of sticky notes",
                "computer: new shared folder “newcomer” with {n} files",
            ],
        },
        {
            "type": "Fewer meetings and more time to concentrate",
            "goal": "cut needless meetings and keep time to concentrate",
            "do": "tidy up the week's meetings",
            "queries": [
                "It's meetings all day long, what can I do?",
                "I never get to my real work. Any way out?",
            ],
            "needs": [
                (
                    "have two hours free of meetings every morning",
                    "the mornings are one meeting after another",
                    "calendar: {n} invitations for Wednesday morning",
                ),
                (
                    "see that what was agreed gets done",
                    "after a meeting nobody knows who does what",
                    "from {p}: who is doing what we agreed last time",
                ),
                (
                    "decline meetings politely",
                    "saying no is hard, so every invitation is accepted",
                    "searched “decline a meeting politely”; viewed two articles",
                ),
            ],
            "scene": "Several departments are working together and meetings fill the calendar. The real work is left until {late}. {p} complains too and says half of the meetings could be skipped.",
            "logs": [
                "searched “too many meetings what helps”; viewed {n} experiences",
                "posted the minutes and a to-do list to the team channel",
                "browsed an article on protecting quiet hours",
                "to {p}: may I just read the minutes on Thursday",
                "from the meeting system: {n} new weekly meetings",
                "calendar: “focus time”, the {d}, 9:00–11:00, desk",
                "app store, service: one month of meeting transcripts",
                "headphones: noise cancelling on for {n} hours",
            ],
        },
    ],
    "health": [
        {
            "type": "Better sleep and regular hours",
            "goal": "sleep better and return to regular hours",
            "do": "wind down before bed",
            "queries": [
                "I've been sleeping badly lately, what can I do?",
                "I lie awake for ages at night. Any ideas?",
            ],
            "needs": [
                (
                    "put the phone away before half past eleven",
                    "the phone stays on for an hour in bed",
                    "phone screen time: {n}0 minutes after 23:00",
                ),
                (
                    "fall asleep again quickly at night",
                    "there are two or three wakings every night",
                    "wristband: awake {n} times last night",
                ),
                (
                    "get through the day with less coffee",
                    "it takes three coffees to get through the day",
                    "coffee app, product: {n} large coffees",
                ),
            ],
        },
        {
            "type": "Easing neck and shoulders",
            "goal": "ease the neck and shoulders and move more",
            "do": "stretch the neck and shoulders",
            "queries": [
                "My neck and shoulders hurt, what can I do?",
                "All this sitting is no good for me. Any suggestions?",
            ],
            "needs": [
                (
                    "loosen up without leaving the desk",
                    "after an afternoon of meetings the neck won't turn",
                    "watch: you have been sitting for {n} hours",
                ),
                (
                    "look down without getting dizzy",
                    "looking down for long brings on dizziness",
                    "searched “dizzy when looking down”; read one article",
                ),
                (
                    "know which movements to leave out",
                    "the wrong exercise made it worse",
                    "from {p}: some moves are bad for the neck, ask first",
                ),
            ],
        },
        {
            "type": "Light meals that taste good",
            "goal": "cook meals that are light and still taste good",
            "do": "put together light meals",
            "queries": [
                "I'd like to eat a bit lighter, any ideas?",
                "How can food with less salt still taste of something?",
            ],
            "needs": [
                (
                    "know how much salt is in each meal",
                    "salt goes in by feel and it's often too much",
                    "browsed a product page for measuring spoons, comparing {n}",
                ),
                (
                    "get flavour without sauces",
                    "the family finds it bland without the sauces",
                    "from the family: today's dinner was a bit bland",
                ),
                (
                    "have weekday dinners ready in half an hour",
                    "it's seven before anyone is home",
                    "searched “quick low-salt dinner”; saved {n} recipes",
                ),
            ],
        },
        {
            "type": "Losing weight slowly",
            "goal": "lose weight slowly and keep it off",
            "do": "bring the weight down",
            "queries": [
                "I've put on a bit of weight again, how do I lose it?",
                "I'd like to lose a few pounds, where do I begin?",
            ],
            "needs": [
                (
                    "eat less in the evening without going hungry",
                    "hunger at night always ends in a snack",
                    "delivery app: order at {late}, one grill plate",
                ),
                (
                    "exercise without hurting the knees",
                    "two runs were enough to make the knees hurt",
                    "searched “exercise with sore knees”; viewed {n} pages",
                ),
                (
                    "lose two or three kilos before the check-up",
                    "the yearly check-up is next month",
                    "calendar: “yearly check-up”, the {d} of next month, 8:00, clinic",
                ),
            ],
            "scene": "With the change of season the old trousers no longer close. Work means a lot of sitting, and late meals are hard to avoid. {p} is losing weight too and suggests keeping an eye on each other.",
            "logs": [
                "searched “healthy weight loss per month”; read {n} articles",
                "posted to a challenge group: day {n} without a late snack",
                "browsed a video on low-impact exercise",
                "to {p}: a walk round the park tonight",
                "from the scales: weekly average up by 0.{n} kg",
                "calendar: “brisk walk”, the {d}, 19:30–20:10, by the river",
                "shopping site, product: one kitchen scale",
                "watch: daily goal set to {n} thousand steps",
            ],
        },
        {
            "type": "Resting tired eyes",
            "goal": "get rid of dry and sore eyes",
            "do": "rest the eyes",
            "queries": [
                "My eyes are dry and sore all the time, what helps?",
                "Screens tire my eyes. What can I do?",
            ],
            "needs": [
                (
                    "look at screens less after work",
                    "there are two more hours of phone at home",
                    "phone weekly report: {n} hours 20 minutes a day",
                ),
                (
                    "read road signs clearly at night",
                    "road signs are a blur at night",
                    "searched “blurred sight when driving at night”; viewed {n} pages",
                ),
                (
                    "get rid of the glare at the desk",
                    "the lamp shines right onto the screen",
                    "browsed a product page for anti-glare films, saving {n}",
                ),
            ],
            "scene": "By the afternoon the eyes are dry and distant things blur. The whole day is spent at a screen, and the evening on the phone. {p} urges an eye test.",
            "logs": [
                "searched “dry eyes what helps”; viewed {n} tips",
                "posted on a forum, asking which desk lamps people use",
                "browsed a product page for desk lamps, comparing {n}",
                "to {p}: where did you have your eyes tested",
                "from the optician: eye test booked for the {d} at 10:30",
                "calendar: “eye test”, the {d}, 10:30–11:00, optician",
                "online pharmacy, product: one box of eye drops",
                "monitor: brightness down {n} steps, warm colours on",
            ],
        },
    ],
    "family": [
        {
            "type": "Taking the parents to their check-ups",
            "goal": "see the parents through their check-ups and give them a pleasant day",
            "do": "arrange the parents' check-up",
            "queries": [
                "I'm taking my parents for a check-up, how do I go about it?",
                "I worry about my parents' health. What can I do?",
            ],
            "needs": [
                (
                    "keep walks short, with places to rest",
                    "Mum's knees hurt after a few hundred metres",
                    "map: distance from the hospital car park to the entrance",
                ),
                (
                    "understand the results and what to check again",
                    "nobody understood last year's results",
                    "searched “how to read blood test results”; viewed {n} pages",
                ),
                (
                    "get them to come along willingly",
                    "Dad finds it a nuisance and won't go",
                    "from Mum: your father says he isn't going",
                ),
            ],
        },
        {
            "type": "Having a child to stay",
            "goal": "have everything ready for the child's stay",
            "do": "get ready for the child's stay",
            "queries": [
                "We're having a small guest, how do I prepare?",
                "A child is coming to stay and I'm in a bit of a muddle.",
            ],
            "needs": [
                (
                    "have no snacks at home that the child is allergic to",
                    "the child is allergic to peanuts",
                    "browsed the ingredients of {n} snacks in the supermarket app",
                ),
                (
                    "have the child asleep by nine",
                    "bedtime here is late and that won't do",
                    "searched “bedtime for six-year-olds”; viewed {n} pages",
                ),
                (
                    "have somebody there in the daytime instead of television",
                    "all the grown-ups work in the daytime",
                    "from {p}: who looks after him during the day",
                ),
            ],
        },
        {
            "type": "Planning a relative's birthday",
            "goal": "agree on a birthday that pleases everyone",
            "do": "plan the birthday",
            "queries": [
                "There's a birthday in the family, how do we make it nice?",
                "Nobody agrees about the birthday. What now?",
            ],
            "needs": [
                (
                    "have every household pay about the same",
                    "some find it too dear, others too modest",
                    "family group poll: budget a head, {n} votes",
                ),
                (
                    "choose a present that really gets used",
                    "last year's ornament never left the cupboard",
                    "from {p}: they have enough things already",
                ),
                (
                    "let relatives far away take part",
                    "two cousins can't travel back",
                    "searched “video call with many people”; viewed {n} pages",
                ),
            ],
        },
        {
            "type": "Sharing the housework",
            "goal": "share the housework clearly without quarrels",
            "do": "share out the housework",
            "queries": [
                "We keep falling out over housework, what can we do?",
                "How do you share housework fairly?",
            ],
            "needs": [
                (
                    "stop spending every weekend on cleaning",
                    "two weekends went on cleaning",
                    "robot vacuum: {n} runs this week, one area unfinished",
                ),
                (
                    "let everyone know what they are in charge of",
                    "the rubbish stood there for three days",
                    "from the caretaker: please clear the rubbish at the door",
                ),
                (
                    "talk about it calmly",
                    "there was a row over the dishes",
                    "searched “talking about chores without a row”; viewed {n} articles",
                ),
            ],
            "scene": "Everyone at home has been busy; dishes pile up and the washing stays in the machine. After a long day, words come out sharper than meant. {p} says they simply take turns.",
            "logs": [
                "searched “sharing housework”; viewed how {n} families do it",
                "posted a photo of a chore list to the family group",
                "browsed an article on getting everyone to help",
                "to {p}: how do you take turns at yours",
                "from the family: who is washing up tonight",
                "calendar: “big clean”, the {d}, 9:00–11:00, at home",
                "shopping site, product: {n} storage boxes",
                "washing machine: quick wash set for {late}",
            ],
        },
        {
            "type": "More good time with the family",
            "goal": "make more time for the family and enjoy it",
            "do": "make time for the family",
            "queries": [
                "We hardly talk at home these days, what can I do?",
                "I'd like more time with my family, any ideas?",
            ],
            "needs": [
                (
                    "have dinner together at least twice a week",
                    "not one family dinner worked out this week",
                    "time sheet: left after 20:00 on {n} days this month",
                ),
                (
                    "talk without phones on the table",
                    "everyone looks at a phone during meals",
                    "home router: {n} devices online from 19:00 to 20:00",
                ),
                (
                    "find things to talk about beyond work and homework",
                    "it's always about work and homework",
                    "browsed an article on dinner table topics",
                ),
            ],
            "scene": "For weeks it has been out early and home late, with hardly a word at home. It weighs on the mind, but once everyone sits down there is nothing to say. Mum asked on the phone whether work is too much.",
            "logs": [
                "searched “weekend with the family”; viewed {n} ideas",
                "posted a photo of a family meal",
                "browsed a local guide for family events, saving {n}",
                "to {p}: where do you go with the family at weekends",
                "from Mum: do ring a bit more often",
                "calendar: “family dinner”, the {d}, 18:30–20:00, at home",
                "shopping site, product: one board game for {n} players",
                "television: family album as screen saver, {n}0 photos",
            ],
        },
    ],
    "leisure": [
        {
            "type": "Taking up an old hobby again",
            "goal": "take the hobby up again and keep at it",
            "do": "practise the old hobby",
            "queries": [
                "I'd like to get back to an old hobby, how do I start?",
                "I start things and never keep them up. Any help?",
            ],
            "needs": [
                (
                    "practise without disturbing the neighbours",
                    "there must be no noise after nine",
                    "from the caretaker: quiet hours from {late}, please",
                ),
                (
                    "have something to show within three months",
                    "there should be something to show at New Year",
                    "searched “what can you learn in three months”; viewed {n} pages",
                ),
                (
                    "buy no more gear that gathers dust",
                    "the last set of gear gathered dust",
                    "second-hand site: {n} pieces of unused gear listed",
                ),
            ],
        },
        {
            "type": "A restful short trip",
            "goal": "have a short trip that is restful and has a known cost",
            "do": "plan the short trip",
            "queries": [
                "I'd like to get away for a bit, where to?",
                "I have a few days off, what shall I do with them?",
            ],
            "needs": [
                (
                    "keep away from the crowds",
                    "the pictures of queues are off-putting",
                    "browsed visitor numbers: the {d} is shown as crowded",
                ),
                (
                    "use the vouchers before they expire",
                    "the voucher is valid for {n} more days",
                    "travel site: your voucher expires in {n} days",
                ),
                (
                    "spend at most three hours a day on trains",
                    "long rides hurt the back",
                    "searched “one hour by train”; viewed {n} places",
                ),
            ],
        },
        {
            "type": "Having friends round for a meal",
            "goal": "have friends round for an easy meal",
            "do": "prepare the dinner party",
            "queries": [
                "I'd like to have friends for dinner, how do I prepare?",
                "People are coming at the weekend and I have no menu.",
            ],
            "needs": [
                (
                    "cook something good for those who eat nothing spicy",
                    "two of them can't eat anything spicy",
                    "from {p}: remember, nothing spicy for me",
                ),
                (
                    "prepare most of it the day before",
                    "there is work to do that very morning",
                    "calendar: “extra shift”, the {d}, 9:00–10:30, office",
                ),
                (
                    "manage with only two pans",
                    "last time the food was cold before all was served",
                    "searched “cooking order with two pans”; viewed {n} articles",
                ),
            ],
        },
        {
            "type": "Reading regularly",
            "goal": "read regularly and finish the books that were bought",
            "do": "read",
            "queries": [
                "I buy books and never read them, what can I do?",
                "I'd like to read more but never keep it up.",
            ],
            "needs": [
                (
                    "use the time on the way to work for it",
                    "the tube takes {n}0 minutes every day",
                    "travel card: {n} tube rides this week",
                ),
                (
                    "remember what was read",
                    "last month's book is already forgotten",
                    "searched “taking notes on books”; viewed {n} articles",
                ),
                (
                    "pick the few books that are worth it first",
                    "a dozen books are still in their wrapping",
                    "browsed reviews of {n} books of the year",
                ),
            ],
            "scene": "More books have joined the shelf, still in their wrapping, and at bedtime it is two pages at most. By day it is all documents; in the evening the phone wins. {p} runs a book club and has sent two invitations.",
            "logs": [
                "searched “how to keep reading”; viewed {n} experiences",
                "posted a list of {n} books in a readers' community",
                "browsed reviews comparing several new books",
                "to {p}: which book is next at the club",
                "from the library: your books are due in {n} days",
                "calendar: “reading”, the {d}, 21:00–21:30, study",
                "online bookshop, product: {n} paperbacks",
                "e-reader: {n} samples downloaded",
            ],
        },
        {
            "type": "Taking better photos and sorting them",
            "goal": "take better photos and keep them in order",
            "do": "practise with the camera and sort the photos",
            "queries": [
                "My photos never come out well, how do I get better?",
                "The photos on my phone are a mess. What now?",
            ],
            "needs": [
                (
                    "get clear pictures indoors in poor light",
                    "everything shot indoors is blurred",
                    "searched “phone photos in low light”; viewed {n} lessons",
                ),
                (
                    "make an album for the family by New Year",
                    "an album is promised for New Year",
                    "from Mum: is the album ready",
                ),
                (
                    "have enough room on the phone",
                    "the phone says the storage is full",
                    "phone: photos take up {n}0 GB, clean-up suggested",
                ),
            ],
            "scene": "The last outing brought a few hundred photos, most of them disappointing. Nothing on the phone has ever been sorted, and finding one takes ages. {p} takes good ones and offered to help.",
            "logs": [
                "searched “phone photography composition”; viewed {n} examples",
                "posted a set of photos with one line",
                "browsed an article on using natural light",
                "to {p}: how did you take that night shot",
                "from the cloud album: {n}00 photos saved",
                "calendar: “photo walk”, the {d}, 15:30–17:30, park",
                "shopping site, product: one phone tripod",
                "computer: new folder “photos of the year”, {n}00 moved",
            ],
        },
    ],
}
#: Everyday lines that no need follows from.
ROUTINE = [
    "coffee app, product: one latte",
    "from the parcel locker: your parcel has arrived",
    "browsed the weather: cloudy for {n} days",
    "travel card: entered the tube, {n} stops",
    "from {p}: are you free at the weekend",
    "browsed an article of local news",
    "phone: {n} apps updated",
    "supermarket app, product: milk and bread",
    "to {p}: just got home, talk later",
    "speaker: radio for {n}0 minutes",
]

#: style: what it is called in a preference, why it is liked, why not; two solutions; a question about it and its answer.
STYLES = {
    "app": {
        "name": "phone apps that record and remind",
        "liked": "with an app that reminds them, nothing is forgotten and there is less to worry about",
        "disliked": "there are too many notifications on the phone already, and one more app only annoys",
        "solutions": [
            "Let a phone app remind you to {do}: enter the steps once, get an alert on time and tick them off.",
            "Use an app on the phone to {do}, with a daily notification and your progress in view.",
        ],
        "ask": "Is the app easy to get into?",
        "tell": "Very: you enter it once and the phone reminds you from then on.",
    },
    "paper": {
        "name": "things written by hand on paper or on the wall",
        "liked": "only what is written by hand feels settled, and it is there to be seen",
        "disliked": "writing by hand is a chore and paper gets lost",
        "solutions": [
            "Keep a paper notebook to {do}: write each item by hand and cross it out when it is done.",
            "Put a big chart on the wall to help you {do}, and add a handwritten line every evening.",
        ],
        "ask": "What would I write down?",
        "tell": "The date, what to do and one line on how it went; any notebook will do.",
    },
    "daily": {
        "name": "small steps of ten minutes a day",
        "liked": "a little time every day is easier to keep up",
        "disliked": "having the same thing in mind every day is tiresome",
        "solutions": [
            "Take just ten minutes a day to {do}, beginning with the easiest small step and adding a little in week two.",
            "Break it into small steps and {do} for about ten minutes every morning, a little each day.",
        ],
        "ask": "Are ten minutes a day enough?",
        "tell": "They are; a small step every day adds up to something you can see.",
    },
    "block": {
        "name": "one long session at the weekend",
        "liked": "it is done in one go, and the rest of the week stays free",
        "disliked": "giving up a whole weekend is out of the question",
        "solutions": [
            "Leave it during the week and use one long Saturday afternoon to {do} in one go.",
            "Save it up for the weekend and set a whole day aside to {do}, with nothing else planned.",
        ],
        "ask": "Is one afternoon enough?",
        "tell": "It is; with everything laid out beforehand, three or four hours will do.",
    },
    "alone": {
        "name": "doing it alone and in quiet",
        "liked": "alone they concentrate better and needn't adapt to anyone",
        "disliked": "alone they soon lose heart and drop it",
        "solutions": [
            "Find a quiet corner and {do} alone, with nobody to wait for.",
            "Close the door and {do} by yourself, at your own pace.",
        ],
        "ask": "Can I really do it alone?",
        "tell": "You can; no helper is needed, and quiet makes it quicker.",
    },
    "together": {
        "name": "doing it together with friends or family",
        "liked": "company gives them drive, and people keep each other going",
        "disliked": "finding a time that suits others is not worth the trouble",
        "solutions": [
            "Ask a friend to {do} with you; keep each other going and compare notes afterwards.",
            "Form a small group with family or colleagues to {do}, taking turns to lead.",
        ],
        "ask": "Who would I ask?",
        "tell": "A friend with the same wish; two people keep each other going.",
    },
    "plan": {
        "name": "a fixed timetable with every step spelled out",
        "liked": "they feel safe when every step has its time and only needs following",
        "disliked": "a rigid timetable leaves no room to breathe",
        "solutions": [
            "Draw up a fixed timetable to {do}, with the start and the end of every step written down.",
            "Set out steps one, two and three to {do}, give each its date and length, and keep strictly to the plan.",
        ],
        "ask": "What would the timetable look like?",
        "tell": "One step on Monday, one on Wednesday and one on Friday, each with a start and an end.",
    },
    "loose": {
        "name": "choosing by mood, without fixed times",
        "liked": "they like some leeway and do things when they feel like it",
        "disliked": "without a plan it gets put off again and again",
        "solutions": [
            "Set no timetable: think of three or four ways to {do} and choose by the mood of the day.",
            "Just {do} whenever it comes to mind, with no deadline and free to switch.",
        ],
        "ask": "Won't I forget without fixed times?",
        "tell": "Don't worry; keep a few ways at hand and pick one when you feel like it.",
    },
    "free": {
        "name": "free ways that use what is already there",
        "liked": "they are thrifty and find that what is there will do",
        "disliked": "what is free can't be relied on and costs time",
        "solutions": [
            "Spend nothing: {do} with what you already have and free material from the web.",
            "Use free public services to {do}, without spending a penny.",
        ],
        "ask": "Does it really cost nothing?",
        "tell": "Nothing at all; what you have and free material are enough.",
    },
    "expert": {
        "name": "paid guidance by a professional",
        "liked": "they trust professionals and gladly pay to avoid detours",
        "disliked": "paying somebody for this seems needless",
        "solutions": [
            "Pay a professional coach who shows you one to one how to {do}, and follow their programme.",
            "Book a paid course on how to {do}, taught by experts, with an adviser for your questions.",
        ],
        "ask": "What does a professional charge?",
        "tell": "Mostly by the session; book an assessment first, then decide.",
    },
    "data": {
        "name": "keeping figures and comparing them",
        "liked": "they are sure of progress only when figures show it",
        "disliked": "a heap of figures puts pressure on them",
        "solutions": [
            "Keep weekly figures while you {do}, compare them in a chart and adjust by the results.",
            "Measure where you stand first, then {do} and compare the numbers each week.",
        ],
        "ask": "Which figures would I keep?",
        "tell": "How often, how long and with what result; one curve a week is enough.",
    },
    "feel": {
        "name": "going by feel, without figures",
        "liked": "they trust their own feeling and won't be led by numbers",
        "disliked": "feeling alone leaves them unsure",
        "solutions": [
            "Keep no figures: {do} and trust your own feeling; go on if it feels good and stop if not.",
            "Just {do} by feel, without measuring; feeling lighter is all the proof you need.",
        ],
        "ask": "How would I know that it works?",
        "tell": "Notice whether you feel lighter; if it feels good, it works.",
    },
}
OPPOSITES = [("app", "paper"), ("daily", "block"), ("alone", "together"), ("plan", "loose"), ("free", "expert"), ("data", "feel")]  # fmt: skip

MONTHS = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
]
DAY = "{day} {month}"
#: Who a scene is about.
PERSON = "{job}"
TIMES = "From {start} to {end}, this is what happened."
HEARD = ["What is more, {cause}.", "Besides, {cause}."]
REQUIREMENT = "The user needs to {goal}; they also want to {need1} and to {need2}."
LIKES = "As for {type}, the user prefers {first}: {why_first}. The user also likes {second}: {why_second}."
DISLIKES = (
    "As for {type}, the user won't accept {first}: {why_first}. The user also rejects {second}: {why_second}."
)
REASON = {
    "pos": "This means {style}, which suits the user: {why}.",
    "neg": "This means {style}, which the user won't accept: {why}.",
}
ANALYSIS = "Here the user likes {pos1}, and also {pos2}; they dislike {neg1}, and also {neg2}; the rest leaves them cold."
MESSAGE = "to {p}: {cause}"
GUESS = [
    "From the way things have been going, would you like to {need}?",
    "I take it you'd like to {need}, is that right?",
]
GUESS_NEXT = ["I see. Would you also like to {need}?", "Understood. And do you also want to {need}?"]
CONFIRM = ["Yes, I'd like to {need}.", "Right, I really want to {need}."]
PROPOSE = ["How about this: {solution}", "I suggest this: {solution}"]
PROPOSE_NEXT = [
    "Good, I'll keep that in mind. Here is another idea: {solution}",
    "I see what you mean. You could also try this: {solution}",
]
DISCUSS = ["That sounds interesting. {ask}", "Let me ask one thing. {ask}"]
FEEDBACK = {
    "pos": ["That's good, I like {style}.", "That suits me, I get on well with {style}."],
    "neg": ["That won't do, I don't like {style}.", "No thanks, I can't get on with {style}."],
}
RESPOND = {
    "pos": ["Great, let's go with that. Good luck!", "That's settled then. Ask me any time."],
    "neg": [
        "All right, I won't suggest that kind again.",
        "Understood, I'll steer clear of that from now on.",
    ],
}
