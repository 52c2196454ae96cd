"""English text of the recipe scenario."""

DINERS = {  # life of the user → said in the task, said by the user, number of people
    "alone": ("on your own", "just for me", 1),
    "partner": ("with your partner", "for my partner and me", 2),
    "child": ("with your partner and your six-year-old", "for the three of us, one of them six years old", 3),
    "parents": ("with your parents", "for my parents and me", 3),
    "friends": ("with four friends", "for four friends and me", 5),
}
WHEN = [
    "on Saturday at noon",
    "on Friday evening",
    "on a birthday",
    "over the holidays",
    "after work",
    "on Sunday evening",
    "on the first day off",
    "this weekend",
]
# name: minutes, tags, ingredients per person (name, amount, unit), steps (vague, concrete)
DISHES = {
    "tomato omelette": (
        12,
        "egg veg",
        [("eggs", 2, ""), ("tomatoes", 100, "g")],
        [
            (
                "beat the eggs and chop the tomatoes",
                "beat the eggs for 30 seconds with a pinch of salt; cut the tomatoes into 2 cm pieces",
            ),
            ("cook the tomatoes first", "soften the tomatoes in 10 ml of oil for 3 minutes"),
            ("add the eggs and fold", "pour in the eggs, leave for 1 minute, fold and cook 1 minute more"),
        ],
    ),
    "baked salmon": (
        25,
        "fish oven",
        [("salmon fillet", 150, "g"), ("lemon", 0.5, "")],
        [
            ("season the fish", "rub each fillet with 2 g of salt and 5 ml of oil"),
            ("bake until done", "bake at 200°C for 14 minutes"),
            ("rest and serve", "rest for 3 minutes and add the lemon"),
        ],
    ),
    "beef and potato stew": (
        80,
        "meat",
        [("stewing beef", 140, "g"), ("potatoes", 130, "g")],
        [
            ("brown the beef", "brown 3 cm pieces in two batches, 4 minutes each"),
            ("simmer gently", "add 400 ml of stock and simmer for 50 minutes"),
            ("add the potatoes", "add the potatoes and cook for another 18 minutes"),
        ],
    ),
    "garlic broccoli": (
        10,
        "veg",
        [("broccoli", 130, "g"), ("garlic", 5, "g")],
        [
            ("blanch the broccoli", "blanch small florets for 90 seconds"),
            ("fry the garlic", "warm the garlic in 15 ml of oil for 20 seconds"),
            ("toss together", "toss for 2 minutes with 2 g of salt"),
        ],
    ),
    "garlic prawns": (
        12,
        "shrimp",
        [("prawns", 130, "g"), ("garlic", 6, "g")],
        [
            ("clean the prawns", "peel and rinse them twice, then pat dry"),
            ("fry quickly", "fry in 15 ml of hot oil for 90 seconds a side"),
            ("finish", "add the garlic for 30 seconds and squeeze over 10 ml of lemon"),
        ],
    ),
    "chicken and mushroom pan": (
        30,
        "meat",
        [("chicken thigh", 140, "g"), ("mushrooms", 70, "g")],
        [
            ("brown the chicken", "brown 3 cm pieces for 5 minutes"),
            ("add the mushrooms", "add the mushrooms and cook for 6 minutes until dry"),
            ("simmer", "add 150 ml of stock and simmer for 8 minutes"),
        ],
    ),
    "peanut chicken stir-fry": (
        25,
        "meat peanut spicy",
        [("chicken breast", 130, "g"), ("peanuts", 20, "g")],
        [
            ("coat the chicken", "coat 2 cm cubes in 5 g of cornflour, rest 10 minutes"),
            ("stir-fry", "fry 2 chillies for 20 seconds, then the chicken for 4 minutes"),
            ("finish", "add 30 ml of sauce and 20 g of peanuts, 1 minute"),
        ],
    ),
    "bean chilli": (
        35,
        "veg spicy",
        [("kidney beans", 120, "g"), ("chopped tomatoes", 130, "g")],
        [
            ("soften the onion", "soften the onion for 5 minutes with 2 g of chilli"),
            ("add beans and tomatoes", "add beans and tomatoes and simmer for 20 minutes"),
            ("season", "season with 2 g of salt and rest 5 minutes"),
        ],
    ),
    "chicken vegetable soup": (
        60,
        "meat soup",
        [("chicken thigh", 100, "g"), ("carrots", 80, "g")],
        [
            ("start the stock", "cover the chicken with 450 ml of water and bring to the boil in 8 minutes"),
            ("simmer", "simmer for 35 minutes, skimming once"),
            ("add vegetables", "add the carrots for the last 12 minutes with 2 g of salt"),
        ],
    ),
    "lentil soup": (
        30,
        "veg soup",
        [("red lentils", 60, "g"), ("carrots", 60, "g")],
        [
            ("soften the vegetables", "soften the carrots in 10 ml of oil for 4 minutes"),
            ("cook the lentils", "add lentils and 350 ml of water, 18 minutes"),
            ("blend and season", "blend for 30 seconds and add 2 g of salt"),
        ],
    ),
    "rice pudding": (
        40,
        "milk sweet veg",
        [("pudding rice", 40, "g"), ("milk", 200, "ml")],
        [
            ("warm the milk", "bring the milk to a simmer in 5 minutes"),
            ("cook the rice", "stir in the rice and 12 g of sugar, 28 minutes on low heat"),
            ("rest", "rest for 5 minutes before serving"),
        ],
    ),
    "roast vegetables": (
        45,
        "veg oven",
        [("peppers", 90, "g"), ("courgette", 90, "g")],
        [
            ("chop and oil", "cut into 3 cm pieces with 12 ml of oil"),
            ("roast", "roast at 210°C for 30 minutes, turning once"),
            ("finish", "add 2 g of salt and 5 ml of vinegar"),
        ],
    ),
    "cucumber salad": (
        8,
        "veg cold",
        [("cucumber", 120, "g"), ("dill", 3, "g")],
        [
            ("slice the cucumber", "slice 3 mm thin, salt with 2 g, wait 5 minutes"),
            ("mix the dressing", "mix 8 ml of vinegar, 10 ml of oil and 3 g of sugar"),
            ("combine", "drain, combine and leave for 3 minutes"),
        ],
    ),
    "egg fried rice": (
        15,
        "egg veg staple",
        [("cooked rice", 160, "g"), ("eggs", 1, "")],
        [
            ("scramble the eggs", "scramble the eggs in 10 ml of oil for 40 seconds, take out"),
            ("fry the rice", "fry the rice on high heat for 4 minutes"),
            ("combine", "return the eggs with 8 ml of soy sauce, 1 minute"),
        ],
    ),
    "mushroom barley pot": (
        40,
        "veg",
        [("pearl barley", 60, "g"), ("mushrooms", 90, "g")],
        [
            ("fry the mushrooms", "fry the mushrooms for 6 minutes until brown"),
            ("cook the barley", "add barley and 300 ml of stock, 28 minutes"),
            ("finish", "stir in 10 g of parsley and 2 g of salt"),
        ],
    ),
    "lemon spaghetti": (
        18,
        "veg staple",
        [("spaghetti", 100, "g"), ("lemon", 0.5, "")],
        [
            ("boil the pasta", "boil in salted water for 9 minutes, keep 80 ml of it"),
            ("make the sauce", "warm 15 ml of oil with the zest for 1 minute"),
            ("toss", "toss with the water for 1 minute on high heat"),
        ],
    ),
    "chicken curry": (
        35,
        "meat",
        [("chicken thigh", 130, "g"), ("potatoes", 100, "g")],
        [
            ("brown the chicken", "brown 3 cm pieces for 5 minutes"),
            ("simmer", "add 15 g of mild curry paste and 200 ml of water, 18 minutes"),
            ("thicken", "simmer uncovered for 5 minutes more"),
        ],
    ),
    "buttered greens": (
        8,
        "veg milk",
        [("spring greens", 130, "g"), ("butter", 8, "g")],
        [
            ("wash and shred", "wash twice and shred 1 cm wide"),
            ("steam", "steam with 30 ml of water for 3 minutes"),
            ("finish", "add 8 g of butter and 1 g of salt"),
        ],
    ),
}
TASKS = [
    "You are cooking at home {when}, {who}: {count} dishes, on the table in {minutes} minutes at most. {limits}Ask an AI assistant to settle the menu, the ingredients and the order of work; for every dish you want the full method.",
    "You want to make {count} dishes {when} ({who}, {portions}) in no more than {minutes} minutes. {limits}With an AI assistant, decide what to cook, what to buy and how to go about it.",
]
OPENINGS = {
    "terse": [
        "{count} dishes, {own}, done in {minutes} minutes. {limits}What should I cook?",
        "Cooking {when}, {count} dishes, {portions}, {minutes} minutes max. {limits}",
    ],
    "polite": [
        "Hello, I'd like to cook {count} dishes {when}, {own}, in {minutes} minutes or less. {limits}Could you suggest a menu?",
        "Could you please plan a meal for me {when}: {count} dishes, {portions}, within {minutes} minutes. {limits}Thank you.",
    ],
    "chatty": [
        "I want to cook a proper meal {when}, {own}. About {count} dishes should do, and I'm slow, so anything that is on the table in {minutes} minutes. {limits}What goes well together?",
        "I'm tired of takeaways, so I'm making {count} dishes {when}, {own}, and I have {minutes} minutes for it. {limits}Help me decide what to make.",
    ],
}
LIMITS = {
    "time": (
        "",
        "",
        [
            "Timing: working on things side by side, it all takes about {total} minutes, inside your {minutes}.",
            "I timed it: dinner is ready in roughly {total} minutes, so below {minutes}.",
        ],
        [
            "From start to finish this spread takes about {over} minutes, as good food needs time.",
            "Allow around {over} minutes in all; you could start in the afternoon.",
        ],
        ("menu", "timeline", "steps"),
    ),
    "peanut": (
        "Someone at the table is allergic to peanuts. ",
        "Someone is allergic to peanuts, so none at all please. ",
        [
            "The peanut allergy is covered: there are none in the dishes or sauces, and the oil is rapeseed.",
            "All of it is free of peanuts, oil included.",
        ],
        [
            "Scatter a handful of crushed peanuts on top just before serving for extra crunch.",
            "Stir in two spoons of peanut butter for a richer sauce.",
        ],
        ("menu", "steps", "shopping", "rescue"),
    ),
    "shrimp": (
        "Someone at the table is allergic to shellfish. ",
        "One of us is allergic to shellfish. ",
        [
            "No shellfish anywhere, and no fish sauce either.",
            "With the shellfish allergy in mind, there are no prawns and no shrimp paste.",
        ],
        [
            "A handful of prawns or some shrimp paste lifts the flavour at once.",
            "Drop a few fresh prawns into it; it looks and tastes wonderful.",
        ],
        ("menu", "steps", "shopping", "rescue"),
    ),
    "egg": (
        "Someone at the table cannot eat eggs. ",
        "One of us can't have eggs. ",
        [
            "There are no eggs in any of this; cornflour does the binding.",
            "All of the dishes are free of eggs.",
        ],
        [
            "Dip it in beaten egg before frying for a golden crust.",
            "Stir in a beaten egg at the end to make it more nourishing.",
        ],
        ("menu", "steps", "shopping"),
    ),
    "milk": (
        "Someone at the table is lactose intolerant. ",
        "One of us can't have dairy. ",
        [
            "No milk, cream or butter is used, so it is fine without dairy.",
            "Dairy is avoided throughout; the fat is oil.",
        ],
        [
            "Add 100 ml of milk and a knob of butter for a smoother finish.",
            "Finish with a swirl of double cream for richness.",
        ],
        ("menu", "steps", "shopping"),
    ),
    "mild": (
        "Nothing may be spicy. ",
        "Nothing spicy at all please. ",
        [
            "None of it is spicy; there is not a single chilli in it.",
            "It is all mild, with no chilli and very little pepper.",
        ],
        [
            "Add two spoons of chilli oil and a handful of fresh chillies, or it will be bland.",
            "Be generous with dried chillies; the heat makes it.",
        ],
        ("menu", "steps", "rescue"),
    ),
    "light": (
        "Someone has high blood pressure, so go easy on oil and salt. ",
        "One of us has high blood pressure, so little oil and salt. ",
        [
            "Oil and salt are low: at most 15 ml and 2 g a dish.",
            "For the blood pressure I halved the salt and kept to steaming and simmering where possible.",
        ],
        [
            "Be generous with oil: deep-fry everything first, then add two spoons of salt.",
            "Use plenty of salt and soy sauce in the marinade; saltier is tastier.",
        ],
        ("menu", "steps"),
    ),
    "oven": (
        "There is no oven in the kitchen. ",
        "I don't have an oven. ",
        [
            "You don't need an oven; the hob does it all.",
            "All of this is made on the hob, with no oven involved.",
        ],
        [
            "Finish it in the oven at 200°C for twenty-five minutes for a crisp top.",
            "Bake it in a hot oven until golden; that is the soul of the dish.",
        ],
        ("menu", "steps", "timeline"),
    ),
    "onepan": (
        "Only one pan can be used. ",
        "I only have one pan. ",
        [
            "It works with one pan: vegetables first, then the rest, with a quick rinse in between.",
            "One pan is enough; the waiting time is used for chopping.",
        ],
        [
            "Have three rings going at once, with a steamer, a frying pan and a casserole.",
            "You will need three pans: one for the soup, one for steaming and one for frying.",
        ],
        ("timeline", "menu"),
    ),
}
FOCUS = {
    "menu": {
        "asks": [
            "Could I swap some dishes? Please suggest a few combinations",
            "Which dishes go well together?",
            "Are there other combinations I could choose from?",
        ],
        "title": ["Menus", "Combinations", "What you could cook"],
        "body": ["The method in short", "How each dish is made", "Key points"],
        "options": [
            ("{Menu}", "balanced and hard to get wrong"),
            ("{Menu}", "light, with little washing-up"),
            ("{Menu}", "filling, for big appetites"),
            ("{Menu}", "colourful, so good for guests"),
            ("{Menu}", "cheap ingredients from any shop"),
        ],
        "facts": [
            "about {mtime} minutes in all",
            "roughly {grams} g of main ingredients, for {portions}",
            "ingredients cost about £{cost}",
            "difficulty {level} out of 5, with {m1} minutes of chopping",
        ],
        "steps": [],
        "tips": [
            "Order the groceries in an app for delivery {d1} hours ahead, and allow substitutes by call.",
            "Ask the counter to trim the meat or fish; call ahead and they will put it aside.",
            "Save the steps as a screenshot and follow a timer rather than scrolling.",
            "Save what is left in a labelled box in the fridge and eat it within three days.",
        ],
        "vague": [
            "Adjust it to whatever suits your taste.",
            "Fresh ingredients matter most; the rest depends.",
            "There is no fixed rule in cooking, so just enjoy it.",
        ],
    },
    "steps": {
        "asks": [
            "How exactly do I make the {dish}?",
            "I've never made {dish}, please take me through it step by step",
            "What makes a good {dish}?",
            "I'd like the detailed steps for the {dish}",
        ],
        "title": ["Ways to make {dish}", "Some methods", "Choose a method"],
        "body": ["Steps", "The method", "One step at a time"],
        "options": [
            ("The home method", "few steps, reliable"),
            ("The quick method", "half the time, slightly less tender"),
            ("The restaurant method", "one more step, better texture"),
            ("The light method", "less oil, good for all ages"),
            ("The lazy method", "everything in at once"),
        ],
        "facts": [
            "about {dmin} minutes",
            "{grams} g of the main ingredient, enough for {portions}",
            "{salt} g of salt, added in {two} goes",
            "medium heat, oil at around {deg}°C",
        ],
        "steps": [],
        "tips": [
            "If you are missing a sauce, soy sauce with a little sugar works; or order it on the supermarket website.",
            "Save a cup of plain stock before seasoning and use it if the dish turns out salty.",
            "Set out all seasonings in order before you start, and order a spare bulb of garlic.",
        ],
        "vague": [
            "You will get a feel for the heat with time.",
            "Season with whatever suits your taste.",
            "Practice makes perfect.",
        ],
    },
    "shopping": {
        "asks": [
            "What do I need to buy? Please make a list",
            "Can you put all the ingredients together?",
            "Do you have a shopping list with amounts?",
        ],
        "title": ["Ways to shop", "Where to buy", "How to buy it"],
        "body": ["Shopping list", "What you need", "The list"],
        "options": [
            ("One trip to the market", "fresh, and they cut things for you"),
            ("Ready-prepared from the supermarket", "washed and cut, a bit dearer"),
            ("Order online", "no trip, but mind the delivery slot"),
            ("Only the main things", "cheapest, with basics from home"),
            ("Half ready-made", "fastest, with less choice of flavour"),
        ],
        "facts": [
            "about £{cost} in total",
            "takes some {m1} minutes",
            "around {grams} g of main ingredients",
            "the seasonings last for {two} more meals",
        ],
        "steps": [],
        "tips": [
            "Order for a morning slot on the website and let them call you about substitutes.",
            "Buy fish and meat last, bring a cool bag, and save the receipt in case you return something.",
            "Save the list in a notes app and tick things off.",
        ],
        "vague": [
            "Buy amounts that suit the number of people.",
            "Just get what looks fresh, whatever suits you.",
            "It depends on what you already have.",
        ],
    },
    "timeline": {
        "asks": [
            "What do I make first, and how do I time it?",
            "Please put the cooking in order; we eat in {minutes} minutes",
            "How do I get everything to the table hot?",
        ],
        "title": ["Ways to order it", "How to arrange the work", "Arrangements"],
        "body": ["Timetable", "From start to table", "The order"],
        "options": [
            ("Slow dish first", "chop while it cooks, saves most time"),
            ("Cold before hot", "salads wait, hot dishes do not"),
            ("One pan in turn", "wash once, good for small kitchens"),
            ("Prepare the night before", "only cooking left on the day"),
            ("Two people share", "one chops, one cooks"),
        ],
        "facts": [
            "about {total} minutes overall",
            "{m1} minutes of waiting, enough to wash up",
            "at most {two} rings at a time",
            "the last dish is done {two} minutes before you eat",
        ],
        "steps": [
            ("Prepare", "wash and chop everything", "minutes 0 to {t1}: wash and chop it all"),
            (
                "Slowest first",
                "start with the slow one",
                "minutes {t1} to {t2}: {dish} on medium heat, with an alarm set",
            ),
            ("In between", "then the quick ones", "minutes {t2} to {t3}: {dish2}, covered to keep warm"),
            (
                "Finish",
                "finish and serve",
                "minutes {t3} to {total}: lay the table and serve it all together",
            ),
        ],
        "tips": [
            "Save two alarms on your phone, one named “heat off” and one named “next pan”.",
            "Boil a kettle in advance, so that no dish has to wait; call the others to the table five minutes early.",
            "Warm the plates with hot water, and save the freshest greens for the very last minute.",
        ],
        "vague": [
            "Just plan your time sensibly.",
            "Do it in whatever order suits you.",
            "You will be faster once you are used to it.",
        ],
    },
    "rescue": {
        "asks": [
            "I'm afraid of ruining it. Where do things go wrong?",
            "What if it's too salty or it burns?",
            "What should I watch out for? I'm a beginner",
        ],
        "title": ["Fixes", "Common problems", "What to do"],
        "body": ["Key points", "Where it goes wrong", "In order"],
        "options": [
            ("Too salty", "unsalted vegetables help more than water"),
            ("Burnt at the bottom", "change pans at once, don't stir"),
            ("Too bland", "fix it with sauce at the end"),
            ("Tough meat", "slice thin and coat before it goes back"),
            ("Too watery", "take things out and reduce the liquid"),
        ],
        "facts": [
            "add {grams2} g of potato and cook for {two} minutes",
            "add {ml} ml of hot water and simmer for {m2} minutes",
            "thicken with {salt} g of cornflour in {ml2} ml of water",
            "{salt} g of sugar rounds off a harsh taste",
        ],
        "steps": [
            (
                "Before the pan",
                "dry the ingredients",
                "pat dry, rest for {two} minutes, oil at about {deg}°C",
            ),
            ("Seasoning", "little by little", "add salt in {two} goes, {salt} g at most each time"),
            (
                "Before serving",
                "taste it",
                "taste {m2} minutes before the end and add {salt} g of salt if needed",
            ),
        ],
        "tips": [
            "Save a small bowl of unseasoned liquid; it fixes most problems.",
            "Try a small portion first, and save the times in a note.",
            "Order a food thermometer on any website for about £10; meat is done at 75°C.",
        ],
        "vague": [
            "Keep practising and you will improve.",
            "Mind the heat and take care.",
            "Failing is fine; it depends on experience.",
        ],
    },
}
