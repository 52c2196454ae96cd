"""English text of the gift scenario. Products and prices are invented."""

# who: said in the task, said by the user, in a reply; occasions that fit
RECIPIENTS = {
    "mother": ("your mother", "my mum", "your mum", ["birthday", "Mother's Day", "Christmas"]),
    "father": ("your father", "my dad", "your dad", ["birthday", "Father's Day", "Christmas"]),
    "partner": ("your partner", "my partner", "your partner", ["birthday", "anniversary", "Valentine's Day"]),
    "friend": ("a close friend", "a close friend", "your friend", ["birthday", "wedding", "housewarming"]),
    "colleague": ("a colleague", "a colleague", "your colleague", ["birthday", "promotion", "leaving do"]),
    "teacher": (
        "a former teacher",
        "my old teacher",
        "your teacher",
        ["birthday", "retirement", "Christmas"],
    ),
    "grandma": ("your grandmother", "my gran", "your gran", ["birthday", "Christmas", "Easter"]),
    "child": (
        "your six-year-old nephew",
        "my six-year-old nephew",
        "your nephew",
        ["birthday", "Christmas", "Easter"],
    ),
}
SEASON = {  # months (1–12) in which one looks for a present; other occasions come at any time
    "Mother's Day": (3,),
    "Father's Day": (5, 6),
    "Valentine's Day": (),
    "Christmas": (11, 12),
    "Easter": (3,),
}
# name with article, lowest and highest price, kind, specification
GIFTS = [
    ("a cashmere scarf", 35, 120, "wool", "200 by 70 cm, plain colours"),
    ("an insulated flask", 15, 45, "home", "500 ml, steel lining"),
    ("a neck massager", 25, 110, "tech", "3 heat levels, 7 days on a charge"),
    ("a silk pillowcase", 18, 60, "home", "50 by 75 cm, 22 momme"),
    ("a box of white tea", 15, 70, "tea", "2 tins, 200 g in all"),
    ("a pour-over coffee set", 25, 90, "home", "a 600 ml jug and 2 cups"),
    ("a Bluetooth speaker", 25, 120, "tech", "12 hours of battery"),
    ("a scented candle", 12, 50, "scent", "220 g, burns for 45 hours"),
    ("a wooden photo frame", 10, 40, "decor", "15 by 10 cm, holds 3 photos"),
    ("a notebook and fountain pen", 18, 80, "stationery", "a fine nib and 192 pages"),
    ("an air fryer", 40, 120, "home", "4 litres, enough for 3 people"),
    ("a jigsaw puzzle", 12, 40, "play", "300 pieces, 40 by 50 cm"),
    ("a potted plant", 10, 40, "decor", "about 40 cm tall, watered once a week"),
    ("a mechanical keyboard", 40, 120, "tech", "87 keys, silent switches"),
    ("a leather wallet", 25, 110, "leather", "8 card slots, full-grain leather"),
    ("a silver leaf necklace", 30, 120, "jewel", "sterling silver, 42 cm chain"),
    ("a hand cream set", 12, 45, "scent", "5 tubes of 30 ml"),
    ("a box of roasted nuts", 12, 40, "sweets", "12 bags, 600 g in all"),
    ("a tin of butter biscuits", 12, 40, "sweets", "6 kinds, 24 pieces"),
    ("a folding camp chair", 20, 60, "outdoor", "holds 120 kg, weighs 1.8 kg"),
    ("an instant camera", 60, 120, "tech", "with 20 sheets of film"),
    ("a yoga mat", 15, 60, "sport", "6 mm thick, 183 by 66 cm"),
    ("a pair of hand-painted mugs", 14, 50, "home", "2 mugs of 300 ml"),
    ("a building block set", 18, 90, "play", "580 pieces, for ages 6 and up"),
    ("an e-reader", 80, 140, "tech", "a 6-inch screen, 30 days of battery"),
    ("a wool blanket", 35, 120, "wool", "150 by 200 cm, 1.2 kg"),
    ("a pottery class", 30, 90, "experience", "2 hours, pieces posted after 3 weeks"),
    ("a pair of theatre tickets", 40, 140, "experience", "2 seats together, 90 minutes"),
    ("a pair of binoculars for children", 12, 50, "child", "8 times magnification, with a strap"),
    ("a science kit", 15, 60, "child", "60 experiments, for ages 6 and up"),
    ("a set of magnetic tiles", 15, 80, "child", "88 tiles with rounded corners"),
    ("a scooter", 22, 100, "child", "3 handle heights, holds 50 kg"),
    ("a set of picture books", 12, 60, "child", "10 books, for ages 5 to 8"),
    ("a watercolour set", 10, 50, "child", "36 colours and 2 brushes"),
]
WHEN = ["is coming up", "is nearly here", "is getting close"]

TASKS = [
    "You would like to give {who} something for up to £{budget} ({occasion}). The day {when}: {left} days are left. {limits}Ask an AI assistant for advice and settle what to give, how to buy it and how to hand it over.",
    "You are looking for a present for {who} ({occasion}), at no more than £{budget}, to be given in {left} days. {limits}Use the conversation to decide what it is, where to buy it and how to present it.",
]
OPENINGS = {
    "terse": [
        "Gift for {own}, {occasion}, under £{budget}. {limits}Ideas?",
        "{occasion} present for {own}, max £{budget}, needed in {left} days. {limits}",
    ],
    "polite": [
        "Hello, I'm looking for a present for {own} ({occasion}). My budget is £{budget} and I need it in {left} days. {limits}Could you suggest something?",
        "Could you please help me find a present for {own} ({occasion}), up to £{budget} and within {left} days? {limits}Thank you.",
    ],
    "chatty": [
        "Every year I struggle with a present for {own}, and last year's was a bit careless. This time ({occasion}) I want to do better, for up to £{budget}, and I have {left} days. {limits}Any good ideas?",
        "I've been thinking for days about what to give {own} for the {occasion} and got nowhere. I can spend £{budget} at most, and it's in {left} days. {limits}Please help me out.",
    ],
}
LIMITS = {
    "budget": (
        "",
        "",
        [
            "Everything is within £{budget}; for {gift}, my first choice, it comes to about £{total} with wrapping.",
            "With {gift} you spend about £{total} in total, so you stay under £{budget}.",
            "Your limit is £{budget}; {gift} comes to roughly £{total} with postage included.",
        ],
        [
            "That said, {premium} at £{over} would impress the most, and you only buy it once.",
            "Personally I would go straight for {premium}, around £{over}; it is dearer but looks the part.",
            "If you pick just one thing, make it {premium} for £{over}; you can feel the difference.",
        ],
        ("ideas", "buying", "detail"),
    ),
    "deadline": (
        "",
        "",
        [
            "There is time: it arrives within {slowest} days, ahead of your {left}.",
            "Everything can be in your hands before the {left} days are up; the slowest takes {slowest}.",
        ],
        [
            "These are all made to order, though, and take about {late} days, so you will have to be patient.",
            "Delivery is around {late} days, but good things are worth the wait.",
        ],
        ("ideas", "buying"),
    ),
    "scent": (
        "The person cannot stand scented things. ",
        "No scented things please, they give a headache. ",
        [
            "Nothing here is scented: no candles, no creams.",
            "Since scents are a problem, I left out candles and hand creams altogether.",
        ],
        [
            "Add a rose-scented candle and the whole room will smell wonderful.",
            "You could also include a set of strong perfume samples, which you notice as soon as the box opens.",
        ],
        ("ideas", "wrap", "detail"),
    ),
    "wool": (
        "The person is allergic to wool. ",
        "There's a wool allergy, so nothing knitted from wool. ",
        [
            "Because of the allergy, none of the materials is wool.",
            "I checked the materials, and there is no wool or cashmere in any of them.",
        ],
        [
            "A pure wool scarf is the safe choice for the cold months, warm against the skin.",
            "A blanket of one hundred per cent wool would also be lovely to curl up in.",
        ],
        ("ideas", "detail"),
    ),
    "decor": (
        "Their home is full, so no ornaments. ",
        "The house is full already, so no ornaments. ",
        [
            "As the house is full, I chose things that get used, and no ornaments.",
            "Ornaments are out, so nothing here will take up shelf space.",
        ],
        [
            "You could add a large crystal ornament; it looks grand in a living room.",
            "I think an oversized ornamental frame is the most memorable, right on the sideboard.",
        ],
        ("ideas", "detail"),
    ),
    "sweets": (
        "The person is cutting down on sugar. ",
        "No sweets, they're cutting down on sugar. ",
        ["No sweets or cakes here, because of the sugar.", "With sugar in mind, I left out anything sweet."],
        [
            "Add a box of chocolates and some fudge; everybody loves something sweet.",
            "Order a large cream cake with it, as sweet things always go down well.",
        ],
        ("ideas", "wrap"),
    ),
    "useful": (
        "It should be something useful in daily life. ",
        "It should be useful, not something for a drawer. ",
        [
            "Everything here is used every day, so nothing will end up in a drawer.",
            "I put usefulness first: these are all everyday things.",
        ],
        [
            "Usefulness is overrated: a preserved rose under glass is the most romantic thing to look at.",
            "You could name a star after them; there is no practical use in it, but it is a lovely gesture.",
        ],
        ("ideas", "detail"),
    ),
    "personal": (
        "There should be something handmade or personal about it. ",
        "I'd like something personal from me in it. ",
        [
            "For the personal touch, have the initials engraved and add a handwritten card.",
            "To make it yours, put a photo of the two of you inside, with two lines on the back.",
        ],
        [
            "You can skip the personal part and let the shop write and send everything.",
            "No need to make anything yourself; a bank transfer is more direct.",
        ],
        ("ideas", "wrap", "card"),
    ),
}
FOCUS = {
    "ideas": {
        "asks": [
            "Do you have any other ideas?",
            "Let's think in another direction: what else could I give {who}?",
            "Is there anything a bit more special?",
        ],
        "title": ["Gift ideas", "What you could give", "A few directions"],
        "body": ["How to prepare", "Steps", "From now until the day"],
        "options": [
            ("{Gift}", "used every day, so the safest choice"),
            ("{Gift}", "something people rarely buy for themselves"),
            ("{Gift}", "good to use together"),
            ("{Gift}", "small and easy to carry"),
            ("{Gift}", "more about the thought than the price"),
            ("{Gift}", "for someone who cares about quality"),
        ],
        "facts": [
            "about £{price}",
            "go for {spec}",
            "arrives roughly {ship} days after ordering",
            "{warranty} months of guarantee and 7 days to return it",
            "{reviews} reviews last month, {rate}% of them good",
        ],
        "steps": [
            ("Decide", "settle on the most suitable one", "choose {gift} today at £{price}: {spec}"),
            (
                "Order",
                "buy it from a reliable shop",
                "order within {d1} days; it takes about {ship}, which leaves {spare} to exchange it",
            ),
            ("Wrap", "wrap it nicely", "paper and ribbon cost about £{wrap} and take {m1} minutes"),
            ("Give", "hand it over on the day", "give it at {time} with a card of about {words} words"),
        ],
        "tips": [
            "Order from the brand's own website and tick the gift box, so that no price slip is included.",
            "Put two or three in the basket, ask support on the website for delivery dates, then order the one that is sure to come; you can return it within a week.",
            "Ask someone close whether they already own one, then order.",
            "Save a nearby shop as a fallback and call to have one put aside, in case the parcel is late.",
        ],
        "vague": [
            "It is the thought that counts.",
            "Choose whatever suits the person best.",
            "In the end it depends, so compare a few things.",
        ],
    },
    "detail": {
        "asks": [
            "Let's go with {gift}. How do I choose one, and what should I look at?",
            "I like the idea of {gift}. Which kind would be right?",
            "What kinds are there if I get {gift}, and how do they differ?",
        ],
        "title": ["Kinds compared", "How to choose", "Some versions"],
        "body": ["In this order", "What to look at", "When choosing"],
        "options": [
            ("The basic version", "does all you need, best value"),
            ("The better version", "nicer finish and parts"),
            ("The boxed version", "comes wrapped, so no extra work"),
            ("The handmade version", "one of a kind, with small irregularities"),
            ("The special edition", "a striking look for slightly more money"),
        ],
        "facts": [
            "about £{price}",
            "what you get is {spec}",
            "light enough for one hand, delivered in {ship} days",
            "{warranty} months of guarantee",
            "{rate}% good reviews; the bad ones are about the packaging",
        ],
        "steps": [
            ("Size", "pick a suitable size", "go by {spec}, give or take 5%"),
            (
                "Material",
                "choose a good material",
                "look for the test sheet on the product page, with at least {n} items",
            ),
            (
                "After-sales",
                "make sure there is some cover",
                "{warranty} months of guarantee or more, and 7 days to return it",
            ),
            ("Delivery", "keep an eye on delivery", "{ship} days by post, which leaves {spare} in hand"),
        ],
        "tips": [
            "Before you order, ask support for a real photo of the colour; you can return it if it is off.",
            "Open only the outer box on arrival; if something is wrong, take a picture and call support the same day.",
            "Check the price history in a comparison app and order once the voucher is in.",
        ],
        "vague": [
            "Each kind has its charm, so it depends on taste.",
            "Choose whatever suits you.",
            "Have a look at the reviews and weigh things up.",
        ],
    },
    "buying": {
        "asks": [
            "Where is a safe place to buy it, and when should I order?",
            "Is it better online or in a shop?",
            "Where would you buy it? I'm afraid of fakes",
            "Are {left} days enough, and what's the safest way to buy?",
        ],
        "title": ["Where to buy", "Shops", "Places compared"],
        "body": ["Timing", "Steps for buying", "When to do what"],
        "options": [
            ("The brand's own shop", "always genuine, few discounts"),
            ("A large online shop", "fastest delivery, easy returns"),
            ("A department store", "you see it first and take it home"),
            ("A craft market", "unusual, with a longer wait"),
            ("A friend who travels", "a good price, but hard to return"),
        ],
        "facts": [
            "{gift} is about £{price} there",
            "delivery takes {ship} days",
            "7 days to return it, postage £{wrap}",
            "£{cut} off when you spend £{full}",
        ],
        "steps": [
            (
                "Today",
                "have a look around",
                "compare three shops, {m1} minutes; {gift} should be about £{price}",
            ),
            ("Order", "buy it when you are sure", "order within {d1} days, with {ship} days for delivery"),
            (
                "Arrival",
                "check it when it comes",
                "check it the same day and film the unboxing, {m1} minutes",
            ),
            (
                "Fallback",
                "change the plan if needed",
                "if it is not there with {spare} days to go, buy {gift2} in town",
            ),
        ],
        "tips": [
            "Order from the official website and save the receipt; a fake is then refunded by support.",
            "Call the nearest counter to check stock and have one put aside until the weekend.",
            "Collect the voucher before you order; many shops refund the difference for a week.",
        ],
        "vague": [
            "Any reputable shop will do.",
            "Both ways have pros and cons; it depends on your habits.",
            "Watch out for fakes and compare a few.",
        ],
    },
    "card": {
        "asks": [
            "What could I write in the card?",
            "Could you write a few lines for the card?",
            "How should the card read? Nothing too soppy",
        ],
        "title": ["Card texts", "You could write", "A few versions"],
        "body": ["When writing", "How to make it look good", "Writing the card"],
        "options": [
            (
                "“You have thought of me all these years. This time it is my turn.”",
                "sincere, good for family",
            ),
            ("“May every day hold a small joy. Today's is from me.”", "light, never awkward"),
            ("“Thank you for being there. Here is to all that comes next.”", "short, with some weight"),
            ("“I kept picturing you with this. I hope I guessed right.”", "refers to the present itself"),
            ("“No big words: sleep well, eat well, laugh often.”", "plain, and older people like it"),
        ],
        "facts": [
            "around {words} words, which fits a 10 by 15 cm card",
            "date and name at the end take up {n} lines",
            "with a 0.7 mm pen it takes {m1} minutes",
        ],
        "steps": [
            ("Opening", "start with the name", "line 1 is the name you really use, {n} words at most"),
            (
                "Middle",
                "mention something small",
                "tell 1 thing you did together this year, around {words} words",
            ),
            ("End", "close with a wish", "1 wish, the date and your name; the card takes {m1} minutes"),
        ],
        "tips": [
            "Draft it in a notes app and save it, then copy it out; a florist can print it if you call ahead.",
            "Put the card on top of the present and save a photo of it.",
            "When you order, tell the shop on the website to leave out the printed card.",
        ],
        "vague": [
            "Just write from the heart.",
            "It depends on how close you are.",
            "A few words are enough; it is the thought that counts.",
        ],
    },
    "wrap": {
        "asks": [
            "How do I hand it over so that it feels special?",
            "Any advice on wrapping and giving it?",
            "How should I give it on the day without it being awkward?",
        ],
        "title": ["Ways to give it", "How to hand it over", "A few ways"],
        "body": ["On the day", "Wrapping steps", "How to do it"],
        "options": [
            ("Hand it over in person", "simple and never awkward"),
            ("Bring it out after dinner", "the mood is right and everyone is there"),
            ("Hide it somewhere familiar", "a surprise, for someone close"),
            ("Have it delivered", "on time even if nobody is around"),
            ("Open it and use it together", "the point is the time together"),
        ],
        "facts": [
            "wrapping costs about £{wrap}",
            "it takes {m1} minutes to prepare",
            "the box is about {box} cm and fits a gift bag",
            "{m2} minutes from start to finish",
        ],
        "steps": [
            (
                "Wrapping",
                "wrap it simply",
                "2 sheets of brown paper and 1 metre of ribbon, {m1} minutes, about £{wrap}",
            ),
            ("Moment", "find a good moment", "give it at {time} and leave {m2} minutes around it"),
            ("Words", "say something kind", "prepare {n} sentences, {words} words at most"),
            ("Afterwards", "take a picture", "take 1 photo together and post a print {d1} days later"),
        ],
        "tips": [
            "Order a small bunch of flowers on the florist's website the day before and collect it on the way.",
            "Save the receipt in a separate envelope, so that they can return it.",
            "Call the restaurant for a quiet table, and book the present to come with dessert.",
        ],
        "vague": [
            "Be natural; there is no need to overdo it.",
            "It depends on how you usually are together.",
            "They will feel the care you put in, whatever you do.",
        ],
    },
}
