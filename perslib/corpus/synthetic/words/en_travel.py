"""English text of the travel scenario. Places are real; prices, hotels and timetables are invented."""

ORIGINS = ["London", "Manchester", "Birmingham", "Bristol", "Leeds"]

# name: hours by train from each origin, sights (name, fee), indoor places, food, areas to stay
DESTINATIONS = {
    "York": (
        (2, 1.5, 2.5, 4, 0.5),
        [
            ("York Minster", 18),
            ("the city walls", 0),
            ("the Shambles", 0),
            ("Clifford's Tower", 9),
            ("the Museum Gardens", 0),
            ("the riverside path", 0),
            ("Fairfax House", 8),
            ("Rowntree Park", 0),
        ],
        ["the National Railway Museum", "the Yorkshire Museum"],
        ["a Yorkshire pudding wrap", "afternoon tea", "pie and peas", "curd tart"],
        ["Bootham", "the Bishopthorpe Road area", "Fossgate"],
    ),
    "Edinburgh": (
        (4.5, 3.5, 4.5, 6.5, 3.5),
        [
            ("Edinburgh Castle", 19),
            ("the Royal Mile", 0),
            ("Dean Village", 0),
            ("the Botanic Garden", 0),
            ("Calton Hill viewpoint", 0),
            ("Holyrood Palace", 19),
            ("Stockbridge Market", 0),
            ("Greyfriars Kirkyard", 0),
        ],
        ["the National Museum of Scotland", "the Portrait Gallery"],
        ["haggis with neeps", "smoked haddock soup", "a hot roast roll", "shortbread"],
        ["Stockbridge", "the New Town", "Bruntsfield"],
    ),
    "Bath": (
        (1.5, 3.5, 2, 0.5, 4.5),
        [
            ("the Roman Baths", 21),
            ("Pulteney Bridge", 0),
            ("the Royal Crescent", 0),
            ("Bath Abbey", 8),
            ("Prior Park", 8),
            ("the canal path", 0),
            ("Sydney Gardens", 0),
            ("the Circus", 0),
        ],
        ["the Holburne Museum", "the Fashion Museum"],
        ["trout with greens", "cream tea", "Somerset cheddar toast", "a Sally Lunn bun"],
        ["Widcombe", "Walcot Street", "Bathwick"],
    ),
    "Liverpool": (
        (2.5, 1, 2, 3.5, 2),
        [
            ("the Albert Dock", 0),
            ("the Anglican Cathedral", 0),
            ("Sefton Park", 0),
            ("Crosby Beach", 0),
            ("the Cavern Club", 5),
            ("St George's Hall", 0),
            ("the Mersey ferry", 12),
            ("Speke Hall", 14),
        ],
        ["the Walker Art Gallery", "the Museum of Liverpool"],
        ["a bowl of scouse", "fish and chips", "salt and pepper chicken", "sourdough pizza"],
        ["the Baltic Triangle", "Hope Street", "the Waterfront"],
    ),
    "Windermere": (
        (3.5, 2, 3, 5, 3),
        [
            ("Orrest Head", 0),
            ("Brockhole", 0),
            ("Wray Castle", 12),
            ("Hill Top", 16),
            ("Bowness Bay", 0),
            ("the lake cruise", 15),
            ("Stagshaw Garden", 4),
            ("Ambleside village", 0),
        ],
        ["the Windermere Jetty Museum", "Blackwell House"],
        ["Cumberland sausage", "grilled lake trout", "Herdwick lamb stew", "gingerbread"],
        ["Bowness", "Ambleside", "Troutbeck Bridge"],
    ),
    "Brighton": (
        (1, 4, 3.5, 3.5, 4),
        [
            ("the Palace Pier", 0),
            ("the Lanes", 0),
            ("the Royal Pavilion", 18),
            ("Preston Park", 0),
            ("the seafront promenade", 0),
            ("Hove Lagoon", 0),
            ("the Volk's Railway", 6),
            ("North Laine", 0),
        ],
        ["the Brighton Museum", "the Toy Museum"],
        ["grilled mackerel", "seaside chips", "vegan brunch", "gelato"],
        ["Kemptown", "Hove", "North Laine"],
    ),
    "Cardiff": (
        (2, 3.5, 2, 1, 4.5),
        [
            ("Cardiff Castle", 15),
            ("Bute Park", 0),
            ("Cardiff Bay", 0),
            ("the Victorian arcades", 0),
            ("Llandaff Cathedral", 0),
            ("St Fagans", 0),
            ("Roath Park Lake", 0),
            ("the Norwegian Church", 0),
        ],
        ["the National Museum Cardiff", "the Millennium Centre"],
        ["leek and potato soup", "cawl", "rarebit on toast", "Welsh cakes"],
        ["Pontcanna", "Cardiff Bay", "Roath"],
    ),
    "Cambridge": (
        (1, 4, 3, 4, 3),
        [
            ("King's College Chapel", 15),
            ("the Backs", 0),
            ("the Botanic Garden", 8),
            ("Grantchester Meadows", 0),
            ("the Mathematical Bridge", 0),
            ("Jesus Green", 0),
            ("the market square", 0),
            ("a punting trip", 24),
        ],
        ["the Fitzwilliam Museum", "Kettle's Yard"],
        ["scones with jam", "pub roast", "noodle soup", "a Chelsea bun"],
        ["Mill Road", "Newnham", "the station quarter"],
    ),
    "Glasgow": (
        (4.5, 3.5, 4.5, 6, 4),
        [
            ("Kelvingrove Park", 0),
            ("Glasgow Cathedral", 0),
            ("the Necropolis", 0),
            ("Pollok Park", 0),
            ("the Tenement House", 9),
            ("the Barras", 0),
            ("the Clyde waterfront", 0),
            ("the Mackintosh House", 9),
        ],
        ["the Kelvingrove Museum", "the Riverside Museum"],
        ["cullen skink", "a square sausage roll", "mussels with bread", "tablet ice cream"],
        ["the West End", "Merchant City", "Finnieston"],
    ),
    "Norwich": (
        (2, 5, 4, 5, 4.5),
        [
            ("Norwich Cathedral", 0),
            ("Elm Hill", 0),
            ("the castle mound", 0),
            ("the Plantation Garden", 3),
            ("the riverside walk", 0),
            ("Whitlingham Broad", 0),
            ("the Norwich Lanes", 0),
            ("Mousehold Heath", 0),
        ],
        ["the Sainsbury Centre", "the Museum of Norwich"],
        ["Cromer crab salad", "ham hock pie", "asparagus tart", "a toasted teacake"],
        ["the Golden Triangle", "Tombland", "the Lanes"],
    ),
    "Oxford": (
        (1, 3, 1.5, 2, 3.5),
        [
            ("Christ Church", 18),
            ("the Bodleian Library", 10),
            ("Port Meadow", 0),
            ("the Covered Market", 0),
            ("Magdalen College", 9),
            ("the University Parks", 0),
            ("St Mary's tower", 6),
            ("the Botanic Garden", 8),
        ],
        ["the Ashmolean Museum", "the Pitt Rivers Museum"],
        ["a market pie", "ramen", "grilled halloumi wrap", "breakfast pastries"],
        ["Jericho", "Cowley Road", "Summertown"],
    ),
    "Whitby": (
        (5, 4, 5, 6.5, 3),
        [
            ("Whitby Abbey", 11),
            ("the harbour", 0),
            ("the West Cliff", 0),
            ("Sandsend beach", 0),
            ("Pannett Park", 0),
            ("the swing bridge", 0),
            ("the steam railway", 28),
            ("Robin Hood's Bay", 0),
        ],
        ["the Captain Cook Museum", "the Whitby Museum"],
        ["kippers on toast", "fresh crab", "fish pie", "lemon top ice cream"],
        ["the West Cliff", "the harbour side", "Sandsend"],
    ),
}

HILLS = {
    "Clifford's Tower",
    "Calton Hill viewpoint",
    "Edinburgh Castle",
    "the city walls",
    "Orrest Head",
    "St Mary's tower",
    "the castle mound",
    "the Necropolis",
    "Mousehold Heath",
    "Whitby Abbey",
    "Stagshaw Garden",
}  # not for bad knees
SPICY = {"salt and pepper chicken"}

# In which months (1–12) one plans for a time of the year; other times fit any month.
SEASON = {
    "in the spring half-term": (3, 4, 5),
    "during the summer holidays": (5, 6, 7),
    "in mid-May": (3, 4),
    "over the bank holiday": (4, 5, 7, 8),
    "in late autumn": (8, 9, 10),
    "at the end of September": (7, 8, 9),
    "when the days get longer": (3, 12),
}

COMPANIONS = {
    "alone": ("on your own", "on my own"),
    "partner": ("with your partner", "with my partner"),
    "child": ("with your partner and your six-year-old", "with my partner and our six-year-old"),
    "parents": ("with your parents", "with my parents"),
    "friends": ("with two friends", "with two friends"),
}
WHEN = [
    "early next month",
    "over the last weekend of the month",
    "in the spring half-term",
    "during the summer holidays",
    "in mid-May",
    "over the bank holiday",
    "in late autumn",
    "the week after next",
    "at the end of September",
    "when the days get longer",
]

TASKS = [
    "You are going from {origin} to {dest} {who} for {days} days {when}, with a budget of £{budget} per person. {limits}You want an AI assistant to help you settle the route, the place to stay, the transport and the meals, until the plan can really be followed.",
    "You plan a {days}-day trip to {dest} {when} ({who}, leaving from {origin}) and want to spend no more than £{budget} a head. {limits}Work out with an AI assistant where to stay, how to get there and what to do on each day.",
    "You have {days} free days {when} and would like to spend them in {dest} {who}, starting from {origin}; about £{budget} each is available. {limits}Use the conversation to turn this into a timetable you could actually follow.",
]
OPENINGS = {
    "terse": [
        "{days} days in {dest}, from {origin}, under £{budget} each. {limits}What's the plan?",
        "Itinerary for {dest}, {days} days, {own}, max £{budget} per person. {limits}",
        "{dest} {when}, {days} days, {own}, £{budget} each. {limits}",
    ],
    "polite": [
        "Hello, I'd like to go from {origin} to {dest} for {days} days {when}, {own}, on about £{budget} per person. {limits}Could you help me plan the trip?",
        "Could you please put together a {days}-day plan for {dest}? I'm travelling {own} from {origin} and would like to stay within £{budget} each. {limits}Thank you.",
    ],
    "chatty": [
        "We finally have some time off, so I'm off to {dest} {when}, {own}, for {days} days. Coming by train from {origin}, and £{budget} a head is what we can spend. {limits}Where would you start?",
        "So it's decided: {dest} {when}, {own}, {days} days in all and £{budget} per person. {limits}None of us has been before and I honestly have no idea, so please sort us out.",
    ],
}

LIMITS = {
    "budget": (
        "",
        "",
        [
            "Cost: this comes to about £{total} per person, so it stays within your £{budget}.",
            "All in, I make it roughly £{total} each, which is under the £{budget} limit.",
            "On the budget side, expect £{total} a head; that leaves a little room below £{budget}.",
        ],
        [
            "All in, expect about £{over} per person, which I think is fair for a comfortable trip.",
            "Set aside £{over} each and you will be fine.",
            "The whole thing comes to roughly £{over} a head, mostly for a nicer hotel and taxis.",
        ],
        ("plan", "transport"),
    ),
    "nights": (
        "The room should cost no more than £{night} a night. ",
        "Please keep the room under £{night} a night. ",
        [
            "Every room here is under £{night} a night.",
            "I kept the room rate below £{night} a night, so nothing extra is needed.",
            "All of these were checked against your £{night} a night limit.",
        ],
        [
            "My real favourite is the suite with a view in {area} at £{over_night} a night; the breakfast is superb.",
            "If you only look at one place, take the five-star hotel in {area}: £{over_night} a night and clearly a step up.",
            "The boutique hotel in {area} is £{over_night} a night, and I would just book it.",
        ],
        ("lodging", "plan"),
    ),
    "days": (
        "",
        "",
        [
            "Length: exactly {days} days, with the journeys included.",
            "It fits into your {days} days, so there is no need for extra leave.",
        ],
        [
            "I would stretch it to {more_days} days and spend the extra time around {s3}.",
            "Plan on {more_days} days; the last one is for {s3}.",
        ],
        ("plan",),
    ),
    "knees": (
        "One of the party has bad knees, so no hill walks and not too much walking. ",
        "One of us has bad knees, so no climbing and not too much walking please. ",
        [
            "Because of the knees, walking stays under {most_km} km a day and there is no hill or long staircase anywhere.",
            "I kept the knees in mind: you ride between sights, with a sit-down every forty minutes and no climbing.",
        ],
        [
            "On the second afternoon, climb the hill outside town: about four hours of steps up and down, but what a view.",
            "Start one morning with the sunrise climb; it is more than two thousand steps and very rewarding.",
        ],
        ("plan", "rain", "transport"),
    ),
    "early": (
        "You do not want to leave the room before nine in the morning. ",
        "Nothing before nine in the morning, please. ",
        [
            "You never leave before 9:30, so there are no early starts.",
            "No early mornings: the first thing on any day is at ten.",
        ],
        [
            "On the second day you need to set off at 6:20 to be there before the crowds.",
            "I suggest getting up at half past six every day and leaving at seven, when it is quietest.",
        ],
        ("plan", "transport", "food"),
    ),
    "mild": (
        "One of the party cannot eat spicy food. ",
        "One of us can't eat anything spicy. ",
        [
            "For the person who avoids spice, all of these places have mild dishes; just ask for no chilli.",
            "Everything I picked is mild, and you can ask for sauces on the side.",
        ],
        [
            "For dinner you have to try the extra-hot vindaloo; without the heat it is no fun.",
            "For a late bite go for the ghost-chilli wings, the hotter the better.",
        ],
        ("food", "plan"),
    ),
    "carsick": (
        "You get carsick and want no long coach rides. ",
        "I get carsick, so no long coach rides. ",
        [
            "Since you get carsick, both journeys are by train and there is no coach at all.",
            "Carsickness is taken care of: rails all the way, and the longest taxi ride is twenty minutes.",
        ],
        [
            "On the second day, take the coach over the hill roads: three and a half hours each way with lovely views.",
            "The cheapest way to see the surroundings is a long-distance coach, about six hours there and back.",
        ],
        ("transport", "plan"),
    ),
    "quiet": (
        "You sleep lightly and need a quiet place at night. ",
        "I'm a light sleeper, so it has to be quiet at night. ",
        [
            "As you sleep lightly, these are all on back streets; ask for a high floor away from the lift.",
            "I checked for quiet: no bars or building sites nearby, and hardly any cars after ten at night.",
        ],
        [
            "It sits right above the bar street, lively until two in the morning, so nightlife is on the doorstep.",
            "Stay in the middle of the club quarter; open the window and you hear the party half the night.",
        ],
        ("lodging", "plan"),
    ),
    "museum": (
        "At least half a day should go to a museum. ",
        "I definitely want half a day for a museum. ",
        [
            "Half a day is set aside for {indoor}; the full round takes about three hours.",
            "Your half day in a museum is on the second afternoon, at {indoor}.",
        ],
        [
            "Museums take up a lot of time, so I left them out in favour of the shopping centres.",
            "Museums are a bit dull, so I swapped yours for the high street.",
        ],
        ("plan", "rain"),
    ),
}

FOCUS = {
    "plan": {
        "asks": [
            "Can you walk me through the {days} days once more? Where do we go on each of them?",
            "What would the route look like day by day?",
            "Please turn the {days} days into a version we can simply follow",
        ],
        "title": ["Possible routes", "Ways to do it", "Routes to choose from"],
        "body": ["Day by day", "The days in order", "Timetable"],
        "options": [
            ("Slow old-town route", "the gentlest pace, with only two stops a day"),
            ("Classic sights route", "everything famous in one go, but busier"),
            ("Waterside route", "mostly outdoors and cheap, so it depends on the weather"),
            ("Heritage route", "old streets and exhibitions, which also works in the rain"),
            ("Food-first route", "built around meals, with sights on the way"),
            ("Photo route", "follows the light, best in the morning and evening"),
        ],
        "facts": [
            "it centres on {s1} and {s2}, which are {mins} minutes apart",
            "it costs about £{part} each, of which £{fee} goes on tickets",
            "you walk around {km} km a day, with cafés to rest in",
            "you leave at {time1} and are back in {area} by {time3}",
            "lunch is {food1} near {area}, about £{meal} each",
        ],
        "steps": [
            (
                "",
                "have a look around {s1} and {s2} and soak up the atmosphere",
                "{time1} {s1} ({ticket1}), about {hrs} hours; {time2} a ride of {mins} minutes to {s2}; {time3} dinner around {area}, {food1} for about £{meal} each",
            ),
            (
                "",
                "wander about and eat something local",
                "{time1} {s1} first, {ticket1}, {hrs} hours or so; lunch is {food1} at about £{meal} each; {time2} on to {s2}, {walk} minutes on foot; back by {time3}",
            ),
            (
                "",
                "see {s1}, and {s2} if there is energy left",
                "{time1} {s1} ({ticket1}), for which {hrs} hours is plenty; {time2} {s2}, {mins} minutes and £{taxi} by taxi; {time3} try {food2} around {area}",
            ),
        ],
        "tips": [
            "Book the popular sights three days ahead on their own websites; the morning slots go first.",
            "Day two is the tightest; if it rains, swap it with the day after, as the tickets can be changed once free of charge.",
            "Save each day's first stop in your map app and check how busy it is before leaving; if it is packed, call in after lunch instead.",
            "Advance train tickets open about twelve weeks ahead; order both directions together and a split ticket often saves a third.",
            "Leave your bags at the station luggage desk for £{bag} each on the last day, and book the slot online.",
        ],
        "vague": [
            "Of course, you can adjust this to whatever suits you.",
            "It depends on your taste, so compare a few routes.",
            "Do some research before you leave and use your time wisely.",
        ],
    },
    "lodging": {
        "asks": [
            "Where should we stay? Under £{night} a night please",
            "Can you recommend somewhere to stay, up to £{night} a night?",
            "How do I choose a hotel? Less than £{night} a night and handy for transport",
            "And what about a room? I'd like to keep it to £{night} a night",
        ],
        "title": ["Places to stay", "Where you could stay", "A few rooms"],
        "body": ["How to book", "Around check-in", "How to choose"],
        "options": [
            ("The Lantern Hotel in {area}", "the best location, though rooms are small"),
            ("Orchard Guesthouse in {area}", "an old house with a garden, but no lift"),
            ("Plainstay in {area}", "clean and easy, if a little characterless"),
            ("Harbour Lights Hostel in {area}", "the cheapest, with private twin rooms"),
            ("Millrace Apartments in {area}", "a small kitchen, good for two nights or more"),
            ("Ashgrove House in {area}", "old-fashioned and quiet"),
        ],
        "facts": [
            "£{room} a night with breakfast for two",
            "{walk} minutes on foot from the nearest stop",
            "rooms of about {size} square metres, ready from {checkin}",
            "{mins} minutes to {s1}, or about £{taxi} by taxi",
            "rated {rating} out of 10 over the last {reviews} reviews",
        ],
        "steps": [
            (
                "Pick the area",
                "choose somewhere well connected",
                "stay in {area}: {mins} minutes to {s1}, and well under {hrs} hours door to door from the station",
            ),
            (
                "Pick the room",
                "take a room that fits your party",
                "look for about {size} square metres and ask for floor {floor} or higher",
            ),
            (
                "When to book",
                "earlier is usually better",
                "book {ahead} days ahead; that tends to be £{room_cut} cheaper than on the day",
            ),
            (
                "On arrival",
                "check in when you get there",
                "check in from {checkin}, out by 11:00, and leave the bags until {time3}",
            ),
        ],
        "tips": [
            "Book a rate you can cancel free of charge until 6 pm the day before, so a change of plan costs nothing.",
            "Call the front desk about parking and cots; the booking sites are often out of date.",
            "Compare two booking sites, then call the hotel directly; they often match the price and add breakfast.",
            "Save two fallbacks in the app, so you can switch the same evening if the room disappoints.",
        ],
        "vague": [
            "In the end it depends on your taste.",
            "Have a look at the reviews and see what suits you.",
            "Any clean and well-connected hotel should do.",
        ],
    },
    "food": {
        "asks": [
            "What's worth eating there?",
            "Any suggestions for food?",
            "Which places do the locals go to?",
            "How would you arrange the meals without spending too much?",
        ],
        "title": ["What to eat", "Tastes worth trying", "Places to eat"],
        "body": ["Meals through the day", "A day of eating", "How to fit the meals in"],
        "options": [
            ("The old kitchen in {area}", "mostly locals, with plain surroundings"),
            ("A small bistro near {s1}", "light cooking that suits all ages"),
            ("The morning market in {area}", "cheap and lively, best early in the day"),
            ("The corner canteen", "big plates that are good to share"),
            ("The tea room in {area}", "a good place to rest in the afternoon"),
            ("The riverside dining room", "a view with the meal, at slightly higher prices"),
        ],
        "facts": [
            "known for {food1}, about £{meal} each",
            "open from {open1} to {close1}, with a wait of {walk} minutes at peak times",
            "{walk2} minutes on foot from {s1}",
            "three dishes for two come to about £{meal2}",
        ],
        "steps": [
            (
                "Breakfast",
                "have something near the room",
                "{open1} at the market in {area}, {bite} for £{snack} each",
            ),
            ("Lunch", "eat near the sights", "{lunch} beside {s1}, about £{meal} each, ahead of the rush"),
            (
                "Dinner",
                "treat yourselves to a good meal",
                "{dinner} around {area}, {food2}, about £{meal2} for two",
            ),
        ],
        "tips": [
            "Book the popular places in their app in the morning; you can cancel until an hour before.",
            "Several of the old places close on Mondays, so call before you set out.",
            "Order small plates first and add more later; most kitchens will pack what is left, so just ask.",
        ],
        "vague": [
            "Tastes differ, so just try a few things.",
            "Pick any busy place on the street; it depends on the day.",
            "Choose whatever suits you.",
        ],
    },
    "transport": {
        "asks": [
            "What's the easiest way to get there from {origin}?",
            "How do we handle the journey and getting around?",
            "Tell me about transport: getting there and moving about",
            "What's a sensible way to travel, and how long does it take?",
        ],
        "title": ["Getting there", "Ways to travel", "The journey"],
        "body": ["How the journey fits together", "From door to door", "Connections"],
        "options": [
            ("Morning train", "arrives early enough to start the same day"),
            ("Afternoon train", "no early start, and seats are easy to find"),
            ("Slower stopping train", "takes longer but costs less"),
            ("Train with one change", "cheaper, with a break on the way"),
            ("Late train on the evening before", "gives you a full first day"),
            ("First-class carriage", "quieter and roomier, for more money"),
        ],
        "facts": [
            "about {ride} at roughly £{fare} each way",
            "the {time1} departure usually has the most seats",
            "from the station it is {mins} minutes to {area}, £{metro} by bus",
            "a margin of {buffer} minutes is enough for the change",
        ],
        "steps": [
            (
                "Leaving",
                "be at the station in good time",
                "depart {origin} at {time1}; be there {buffer} minutes before",
            ),
            (
                "Arriving",
                "take local transport into town",
                "{ride} later, change for the bus: {mins} minutes to {area}, £{metro}",
            ),
            (
                "Getting around",
                "buses and walking both work",
                "buses are £{metro} a ride, {mins2} minutes at most; taxis start at £{taxi}",
            ),
            (
                "Coming back",
                "travel home in the afternoon",
                "leave at {time2} on the last day and be in {origin} by {time4}",
            ),
        ],
        "tips": [
            "Order tickets on the rail operator's website the day they open, and set an alert if your train is sold out.",
            "Set up contactless payment on your phone before you arrive; daily fares are capped, so there is no need to order a pass.",
            "Book a flexible return, so that you can take a later train or cancel for a £{bag} fee.",
        ],
        "vague": [
            "Every means of transport has its pros and cons; it depends on you.",
            "Transport is good nowadays, so just look it up when you get there.",
            "Remember to plan your travel time sensibly, whatever suits you.",
        ],
    },
    "rain": {
        "asks": [
            "What if it rains? Is there a backup?",
            "How would the plan change in bad weather?",
            "If it pours or gets too crowded, what else could we do?",
        ],
        "title": ["Backup places", "Rainy-day choices", "What to swap in"],
        "body": ["How to switch", "On a wet day", "Changing the order"],
        "options": [
            ("{indoor}", "enough to see for half a day"),
            ("An old tea room in {area}", "warm, quiet and easy on the legs"),
            ("The arcades and bookshops in {area}", "easy with children, and food is close by"),
            ("A craft workshop", "you make something and take it home"),
            ("The indoor baths", "rather nice in the rain, at a higher price"),
            ("A small theatre", "for the evening, and it does not end late"),
        ],
        "facts": [
            "doors open at {open1}, last entry well before {close1}",
            "about £{meal} each for {hrs} hours or so",
            "{mins} minutes by bus from {area}",
            "only {walk} minutes from {s1}, where you were going anyway",
        ],
        "steps": [
            (
                "The evening before",
                "look at the weather",
                "check the hourly forecast at {time4}; switch if rain is above 60%",
            ),
            ("In the morning", "go indoors", "{time1} at {indoor} instead, for {hrs} hours"),
            (
                "In the afternoon",
                "go out again if it stops",
                "{time2} on to {s1} if it clears, {walk} minutes on foot; if not, tea in {area} at about £{meal} each",
            ),
        ],
        "tips": [
            "Timed tickets for {indoor} go quickly on wet days, so book a slot on its website the night before; you can cancel free of charge.",
            "Pack spare shoes; the front desk will lend an umbrella for a £{bag} deposit if you call down.",
            "Do not give up outdoor tickets yet: use the order page on the website to move them by up to seven days.",
        ],
        "vague": [
            "Stay safe in the rain and keep your spirits up.",
            "You can decide on the day, whatever suits you.",
            "There are plenty of things to do indoors; it depends.",
        ],
    },
}
