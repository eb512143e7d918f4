"""Command lines that no client should send; each is answered with exactly one reply.

Left out, because a beanstalkd 1.12 has a fault there that we do not share (each is said in a
scenario of `tests/conformance/beanstalk/`): a line with a lone carriage return, and one of exactly
223 bytes, are never answered; `reserve-with-timeout` takes -1, 5x, x, nothing, and numbers over 32
bits.
"""

UNKNOWN = [
    "", " ", "\t", "nonsense", "PUT 0 0 60 1", "USE a", "Reserve", "put", "peek", "delete", "use",
    "kick", "touch", "release", "bury", "watch", "ignore", "stats-jo", "list", "pause", "reserv",
    " use a", "put\t0 0 60 1", "\xff\xfe", "x" * 222, "GET / HTTP/1.1",
]  # fmt: skip
"""No command begins like this."""

WRONG = [
    "put ", "put 0", "put 0 0 60", "put 0 0 60 ", "put 0 0 60 a", "put 0 0 60 1a", "put 0 0 60 -1",
    "put a 0 60 1", "put -1 0 60 1", "put 4294967296 0 60 1", "put 0 4294967296 60 1",
    "put 0 0 4294967296 1", "put 0 0 60 4294967296", "put 0 0 60 18446744073709551616",
    "put 0 0 60 +1", "put 0x1 0 60 1", "put 0 1.5 60 1", "put 0 0 60 1 1", "put 0 0 60 1 ",
    "peek ", "peek x", "peek 1x", "peek -1", "peek 1 ", "peek 1 2", "peek 18446744073709551616",
    "peek-ready ", "peek-readyx", "peek-ready 1", "peek-delayed 1", "peek-buried\t",
    "reserve ", "reservex", "reserve 1",
    "reserve-job ", "reserve-job x", "reserve-job 1 2", "reserve-job 18446744073709551616",
    "delete ", "delete x", "delete 1x", "delete 1 ", "delete 1 2", "delete -1", "delete +1",
    "delete 18446744073709551616", "delete 99999999999999999999999999",
    "release ", "release 1", "release 1 2", "release 1 2 3 4", "release 1 2 3 ", "release x 2 3",
    "release 1 x 3", "release 1 2 x", "release 1 4294967296 0", "release 1 0 4294967296",
    "bury ", "bury 1", "bury 1 x", "bury x 1", "bury 1 2 3", "bury 1 2 ", "bury 1 4294967296",
    "kick ", "kick x", "kick 99999999999999999999", "kick-job ", "kick-job x", "kick-job 1 ",
    "touch ", "touch x", "touch 1x", "touch 1 ", "stats ", "statsx", "stats 1",
    "stats-job ", "stats-job x", "stats-job 1 2", "stats-tube ", "stats-tube -x", "stats-tube a b",
    "use ", "use -x", "use a b", "use a ", "use  a", "use a:b", "use a,b", "use \xe9", "use a\0b",
    "watch ", "watch -x", "watch a ", "ignore ", "ignore -x", "ignore a b",
    "list-tubes ", "list-tubesx", "list-tube-used ", "list-tubes-watched x",
    "pause-tube", "pause-tube ", "pause-tube default", "pause-tube default ",
    "pause-tube default x", "pause-tube default -1", "pause-tube default 4294967296",
    "pause-tube -x 1",
    "pause-tube default 1 ", "pause-tube a:b 1", "delete 1\0", "\0", "reserve\0",
    "use " + "n" * 201, "watch " + "n" * 201, "ignore " + "n" * 201, "stats-tube " + "n" * 201,
    "pause-tube " + "n" * 201 + " 1", "x" * 224, "x" * 500, "use " + "x" * 3_000,
    "delete " + "1" * 250,
]  # fmt: skip
"""A command begins like this, and goes on wrong."""

LAX = [
    "peek  1", "delete  18446744073709551615", "touch     4000000000", "kick 0", "kick  1",
    "kick 1x", "kick -1", "kick 4294967295", "kick +1", "put  0  0  60  x", "reserve-job   4000000",
    "release  4000000  1  1", "bury  4000000  1", "pause-tube   default   0", "pause-tubedefault 0",
    "pause-tube nobody-has-it 1", "stats-tube nobody-has-it", "ignore nobody-has-it",
    "kick-job 0", "delete 0", "peek 00000000000000000001", "reserve-with-timeout  0",
]  # fmt: skip
"""Odd, and accepted as it stands."""
