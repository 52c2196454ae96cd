"""What is taken for personal, rule by rule; earlier rules go before later ones."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable
from datetime import date
from typing import NamedTuple

from perslib.signals.glance import either_case


class Rule(NamedTuple):
    """A kind of personal thing: how it is written, which group of the pattern holds it, and what must be true of it."""

    kind: str
    pattern: re.Pattern[str]
    group: int = 0
    check: Callable[[str], bool] | None = None
    needs: str = ""
    """What every text has in it that the pattern matches, in RE2's syntax: else it need not be tried."""


def identity_card(text: str) -> bool:
    """ISO 7064, mod 11-2: Σ digit·weight + check ≡ 1 (mod 11), weights 2^(17−i); and a date that can be a birthday."""
    total = sum(int(digit) * pow(2, 17 - i, 11) for i, digit in enumerate(text[:17]))
    if "10X98765432"[total % 11] != text[17].upper():
        return False
    try:
        born = date(int(text[6:10]), int(text[10:12]), int(text[12:14]))
    except ValueError:
        return False
    return 1900 <= born.year <= date.today().year


def bank_card(text: str) -> bool:
    """Luhn: every second digit from the right doubled, the sum of all digits divisible by ten."""
    digits = [int(c) for c in text if c.isdigit()]
    doubled = (sum(divmod(2 * d, 10)) for d in digits[-2::-2])
    return 13 <= len(digits) <= 19 and len(set(digits)) > 2 and (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0


def _address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def _ipv6(text: str) -> bool:
    return (
        (text.count(":") == 7 or "::" in text)
        and any(c.isdigit() for c in text)
        and text.count(":") > 2
        and _address(text)
    )


def _international(text: str) -> bool:
    return 8 <= sum(c.isdigit() for c in text) <= 15


def _coordinates(text: str) -> bool:
    lat, lon = (float(part) for part in re.split(r"\s*[,，]\s*", text))
    return 1 < abs(lat) <= 90 and 1 < abs(lon) <= 180 and (abs(lat) >= 10 or abs(lon) >= 10)


_SURNAMES = (
    "赵钱孙李周吴郑王冯陈褚卫蒋沈韩杨朱秦尤许何吕施张孔曹严华金魏陶姜戚谢邹喻柏窦章苏潘葛范彭郎鲁韦马苗方俞任袁柳鲍史唐费薛雷贺倪汤"
    "滕殷罗毕郝邬安乐于傅皮卞齐康伍余元顾孟黄穆萧尹姚邵湛汪祁毛狄臧戴宋庞熊纪舒屈项祝董梁杜阮蓝闵席季麻强贾路娄江童颜郭梅盛林刁钟徐"
    "邱骆高夏蔡田樊胡凌霍虞万柯管卢莫房裘解应宗丁宣邓洪包左石崔吉龚程邢裴陆荣翁段巫焦巴牧侯宁甘厉祖武符刘景龙叶司黎白蒲赖卓屠池乔"
    "阳闻党翟谭姬申冉桑桂牛寿温庄晏柴瞿阎连习容向易慎戈廖庾终耿匡国文寇广东欧沃利越师巩聂晁敖融訾辛那简饶曾沙养丰关查游权盖益桓公"
)
_PROVINCES = "京津沪渝冀豫云辽黑湘皖鲁新苏浙赣鄂桂甘晋蒙陕吉闽贵粤青藏川宁琼"
_SURNAME = f"(?:欧阳|司马|上官|诸葛|东方|皇甫|尉迟|公孙|慕容|令狐|[{_SURNAMES}])"
_HAN = "\u4e00-\u9fff"
_AFTER_NAME = f"(?=[^{_HAN}]|$|今年|今天|现在|是|来自|住在?|在|的|电话|手机|身份|我|有|想|和|生于|出生)"
_MONTHS = "(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"
_DATE = rf"(?:\d{{4}}\s?[-/.年]\s?\d{{1,2}}\s?[-/.月]\s?\d{{1,2}}\s?日?|\d{{1,2}}月\d{{1,2}}[日号]|\d{{1,2}}[-/.]\d{{1,2}}[-/.]\d{{2,4}}|{_MONTHS}\s+\d{{1,2}}(?:st|nd|rd|th)?,?\s*(?:\d{{4}})?|\d{{1,2}}(?:st|nd|rd|th)?\s+(?:of\s+)?{_MONTHS}\s*(?:\d{{4}})?)"
_PLACE = "[^\\W\\da-zA-Z_在住于址是到我你他她]"
_STREET = "(?:Street|St|Road|Rd|Avenue|Ave|Lane|Ln|Drive|Dr|Boulevard|Blvd|Court|Ct|Place|Pl|Way|Square)"


def _rule(
    kind: str,
    needs: str,
    pattern: str,
    group: int = 0,
    check: Callable[[str], bool] | None = None,
    flags: int = 0,
) -> Rule:
    return Rule(
        kind, re.compile(pattern, flags), group, check, either_case(needs) if flags & re.IGNORECASE else needs
    )


_I = re.IGNORECASE
#: Every digit that `\d` knows, and the letters of some scripts: RE2 takes long to compile the exact class.
DIGIT = "[0-9\u0660-\u1fff\ua620-\uabff\uff10-\uff19\U00010000-\U0001ffff]"
_SEVEN = rf"{DIGIT}(?:[ ()-]{{0,2}}{DIGIT}){{6}}"
_MESSENGER = "微信|wechat|weixin|telegram|whatsapp|抖音"
RULES: tuple[Rule, ...] = (
    _rule(
        "URL", r"://[^\s/@:]+:[^\s/@]+@", r"https?://[^\s/@:]{1,200}:[^\s/@]{1,200}@[!-~]{1,2000}", flags=_I
    ),
    _rule(
        "URL",
        r"://[!-~]*[?&][!-~]*=",
        r"https?://[!-~]{1,1000}?[?&](?:access_?token|token|api_?key|key|secret|password|passwd|pwd|sig|signature|auth|session(?:_?id)?|code)=[!-~]{1,2000}",
        flags=_I,
    ),
    _rule(
        "EMAIL",
        r"[A-Za-z0-9._%+-]@[A-Za-z0-9-]",
        r"(?<![A-Za-z0-9._%+-])[A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){0,4}\.[A-Za-z]{2,24}(?![A-Za-z0-9-])",
    ),
    _rule("ID", _SEVEN, r"(?<![\dA-Za-z])(?<!\d\.)\d{17}[\dXx](?![\dA-Za-z])", check=identity_card),
    _rule(
        "PHONE",
        _SEVEN,
        r"(?<![\dA-Za-z])(?<!\d\.)(?:\+?86[- ]?)?1[3-9]\d[- ]?\d{4}[- ]?\d{4}(?![\dA-Za-z])(?!\.\d)",
    ),
    _rule(
        "PHONE",
        rf"\+{DIGIT}",
        r"(?<![A-Za-z0-9_+])\+\d{1,3}[- .]?(?:\(\d{1,4}\)[- .]?)?\d{1,4}(?:[- .]?\d{2,4}){1,5}(?!\d)",
        check=_international,
    ),
    _rule("PHONE", _SEVEN, r"(?<![\d.-])(?:0\d{2,3}[- ]|\(0\d{2,3}\)[- ]?)\d{7,8}(?![\d-])"),
    _rule("PHONE", _SEVEN, r"(?<![\d.-])(?:\(\d{3}\) ?\d{3}-\d{4}|\d{3}-\d{3}-\d{4})(?![\d-])"),
    _rule(
        "CARD",
        _SEVEN,
        r"(?<![\dA-Za-z.=×*+/÷-])(?<![=×*+/÷-] )[3-6]\d{3}(?:[- ]?\d{4}){2}[- ]?\d{1,7}(?![\dA-Za-z])(?!\.\d)",
        check=bank_card,
    ),
    _rule(
        "MAC",
        r"[0-9A-Fa-f]{2}[:-](?:[0-9A-Fa-f]{2}[:-]){4}",
        r"(?<![0-9A-Za-z:-])[0-9A-Fa-f]{2}(?:([:-])[0-9A-Fa-f]{2})(?:\1[0-9A-Fa-f]{2}){4}(?![0-9A-Za-z:-])",
    ),
    _rule(
        "IP",
        r"::|(?:[0-9A-Fa-f]{1,4}:){5}",
        r"(?<![A-Za-z0-9_:.])[0-9A-Fa-f]{0,4}(?::[0-9A-Fa-f]{0,4}){2,7}(?![A-Za-z0-9_:.])",
        check=_ipv6,
    ),
    _rule(
        "IP",
        rf"{DIGIT}\.{DIGIT}{{1,3}}\.{DIGIT}{{1,3}}\.{DIGIT}",
        r"(?<![A-Za-z0-9_.])(?<![vV]ersion )\d{1,3}(?:\.\d{1,3}){3}(?![A-Za-z0-9_.]*\d)",
        check=_address,
    ),
    _rule(
        "PLATE",
        rf"[{_PROVINCES}][A-Z][·• ]?[A-Z0-9]{{5}}",
        rf"(?<![A-Za-z0-9])[{_PROVINCES}][A-HJ-NP-Z][·• ]?[A-HJ-NP-Z0-9]{{5,6}}(?![A-Za-z0-9])",
    ),
    _rule(
        "PLATE",
        "车牌|牌照|license plate|licence plate|number plate|plate (?:number|no)",
        r"(?:车牌|牌照|licen[cs]e plate|number plate|plate (?:number|no\.?))\W{0,3}(?:号码?|is|number)?\W{0,3}((?=[A-Z0-9 -]{0,8}\d)[A-Z0-9]{2,4}[- ]?[A-Z0-9]{2,5})(?![A-Za-z0-9])",
        1,
        flags=_I,
    ),
    _rule(
        "PASSPORT",
        "护照|passport",
        r"(?:护照|passport)(?:号码?|\s*(?:number|no\.?|is))?\W{0,4}(?:is\s+|是|为)?\W{0,2}([A-Z]{0,2}\d{7,9})(?![A-Za-z0-9])",
        1,
        flags=_I,
    ),
    _rule(
        "ORDER",
        rf"(?:订单|单号|运单|快递|order|tracking)[^a-z一-鿿]*(?:编?号码?|number|no|id)?[^a-z一-鿿]*(?:is|是|为)?[^a-z一-鿿]*[a-zıİ-]*{DIGIT}",
        r"(?:订单|单号|运单|快递|order|tracking)\s*(?:编?号码?|number|no\.?|id)?\W{0,4}(?:is\s+|是|为)?\W{0,2}((?=[A-Z-]*\d)[A-Z0-9][A-Z0-9-]{6,30}[A-Z0-9])(?![A-Za-z0-9])",
        1,
        flags=_I,
    ),
    _rule(
        "ACCOUNT",
        _MESSENGER,
        r"(?:微信|wechat|weixin|telegram|whatsapp|抖音)(?:号码?|账号|\s*(?:id|is|handle))?\W{0,3}(?:is\s+|是|为)?\s?(@?[A-Z](?=[A-Z0-9_-]*[\d_-])[A-Z0-9_-]{4,30})(?![A-Za-z0-9])",
        1,
        flags=_I,
    ),
    _rule(
        "ACCOUNT",
        _MESSENGER,
        r"(?:微信|wechat|weixin|telegram)(?:号码?|账号|\s*(?:id|handle))\s?(?:is\s+|是|为|[:：])\s?(@?[A-Z][A-Z0-9_-]{4,30})(?![A-Za-z0-9])",
        1,
        flags=_I,
    ),
    _rule(
        "ACCOUNT",
        "qq|扣扣",
        r"(?<![A-Za-z])(?:qq|扣扣)(?:号码?|\s*(?:number|is))?\W{0,3}(?:is\s+|是|为)?\s?([1-9]\d{4,10})(?!\d)",
        1,
        flags=_I,
    ),
    _rule(
        "NAME",
        "我叫|名叫|我的名字|姓名",
        rf"(?:我叫|名叫|我的名字(?:叫|是)|姓名\s?[:：是为]?\s?)({_SURNAME}[{_HAN}]{{1,2}}?){_AFTER_NAME}",
        1,
    ),
    _rule(
        "NAME",
        "我叫|名叫|我的名字|姓名",
        rf"(?:我叫|名叫|我的名字(?:叫|是)|姓名\s?[:：是为]?\s?)({_SURNAME}(?!了|个|过|着)[{_HAN}]{{2}})",
        1,
    ),
    _rule(
        "NAME",
        "先生|女士",
        rf"(?<!任)(?<!如)(?<!为)(?!任何|如何|为何)({_SURNAME}[{_HAN}]{{0,2}}?)(?=先生|女士)",
        1,
    ),
    _rule(
        "NAME",
        r"[Mm]y (?:full )?name(?: is|.s) [A-Za-z]",
        r"\b[Mm]y (?:full )?name(?: is|'s|’s) ((?!not\b|on\b|in\b|a\b|the\b)[A-Za-z][A-Za-z'’-]{1,20}(?: [A-Z][A-Za-z'’-]{1,20}){0,2})",
        1,
    ),
    _rule(
        "NAME",
        r"(?:^|[^A-Za-z])(?:[Cc]all me|[Mm]rs?\.?|[Mm]s\.?|Dr\.) [A-Z][a-z'’-]",
        r"\b(?:[Cc]all me|[Mm]r\.?|[Mm]rs\.?|[Mm]s\.?|Dr\.) ([A-Z][a-z'’-]{1,20}(?: [A-Z][a-z'’-]{1,20})?)",
        1,
    ),
    _rule(
        "ADDRESS",
        rf"(?:路|街|大道|巷|胡同|弄)[{_HAN}]{{0,4}}{DIGIT}{{1,5}}[号弄]",
        rf"(?:{_PLACE}{{2,3}}(?:省|自治区))?(?:{_PLACE}{{2,4}}市)?(?:{_PLACE}{{1,4}}[区县])?{_PLACE}{{1,6}}(?:路|街|大道|巷|胡同|弄)[{_HAN}]{{0,4}}\d{{1,5}}(?:号|弄)(?:[{_HAN}]{{0,8}}\d{{1,4}}(?:号楼|栋|幢|座|单元|楼|层|室|户))*",
    ),
    _rule(
        "ADDRESS",
        rf"{DIGIT} (?:[A-Z][a-z]+ )+{_STREET}",
        rf"(?<![A-Za-z0-9_.])\d{{1,5}} (?:[A-Z][a-z]{{1,20}} ){{1,3}}{_STREET}\b\.?(?:,? (?:Apt|Apartment|Suite|Unit|#)\.? ?\w{{1,6}})?",
    ),
    _rule(
        "BIRTHDAY",
        rf"(?:生日|出生日期|出生于|birthday|date of birth|dob|born)(?: is| on| in)?[^a-z一-鿿]*(?:是|为|在)?[^a-z一-鿿]*(?:{DIGIT}|{_MONTHS})",
        rf"(?:生日|出生日期|出生于|birthday|date of birth|dob|born)(?: is| on| in)?\W{{0,3}}(?:是|为|在)?\s?({_DATE})",
        1,
        flags=_I,
    ),
    _rule(
        "BIRTHDAY",
        rf"(?:{DIGIT}|[日号a-z,\s\pZ\x1c-\x1f\x85])(?:出生|生日|生于|生人)",
        rf"({_DATE})(?=出生|生日|生于|生人)",
        1,
        flags=_I,
    ),
    _rule(
        "LOCATION",
        rf"{DIGIT}\.{DIGIT}{{4,12}}[^0-9]{{1,6}}{DIGIT}{{1,3}}\.{DIGIT}{{4}}",
        r"(?<![A-Za-z0-9_.\[,])(?<!, )-?\d{1,2}\.\d{4,12}\s{0,2}[,，]\s{0,2}-?\d{1,3}\.\d{4,12}(?![A-Za-z0-9_.])(?!\s?,\s?-?\d)",
        check=_coordinates,
    ),
)
