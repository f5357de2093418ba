"""Hash-consed nodes: the same expression is the same object, and has the same name everywhere.

A plan is a graph of nodes without cycles. It can be deeper than Python's stack, so ``inputs_first``, the one walk over
it, does not recurse.
"""

from __future__ import annotations

import dataclasses
import datetime
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from hashlib import blake2b
from operator import attrgetter, methodcaller
from typing import Any, ClassVar, TypeVar, dataclass_transform

from privjail.errors import PlanError

T = TypeVar("T")

_alive: dict[tuple[Any, ...], _Entry] = {}  # from class and fields to the node; faster than a WeakValueDictionary
_building = threading.RLock()
set_frozen = object.__setattr__  # one fact of a node that is being built; Node.fact sets several
NOT_YET = object()
# 256 bits: with two expressions of the same name, one partition of the data could be charged as another.
# Each digest starts from a copy of this: copying takes half as long as making a new one.
EMPTY = blake2b(digest_size=32)
LATER = "later"  # metadata of a record's field that is spelled only if it has not its default: older names stay
LONGEST, HEAD = 240, 80  # characters of a node's text, and how many of them are its beginning if it is cut


class _Entry(weakref.ref["Node"]):
    """A weak reference to a node, with the key under which it is registered."""

    __slots__ = ("key",)
    key: tuple[Any, ...]


def _forget(gone: Any) -> None:
    """Called when a node is freed. A new node may already be registered under the same key."""
    key = gone.key
    with _building:
        if _alive.get(key) is gone:
            del _alive[key]


class Interned(type):
    """Calling a node class gives the node that already exists for these fields, if there is one."""

    def __call__(cls, *args: Any) -> Any:
        key = (cls, *args)
        known = _alive.get(key)
        node = None if known is None else known()
        if node is None:
            made = cls._build(key, args)  # outside of the lock: deriving one node's facts must not hold up others
            entry = _Entry(made, _forget)
            entry.key = key
            with _building:
                node = _alive.setdefault(key, entry)()
                if node is None:  # an entry was left of a node that is already freed
                    node = made
                    _alive[key] = entry
        return node

    def _build(cls, key: tuple[Any, ...], args: tuple[Any, ...]) -> Any:
        """Set the fields, as the dataclass's own __init__ would; that one is slow for frozen classes."""
        names: tuple[str, ...] = cls.__match_args__  # type: ignore[attr-defined]
        if len(args) != len(names):
            raise TypeError(f"{cls.__name__} takes {len(names)} fields, not {len(args)}")
        made: Any = cls.__new__(cls)  # type: ignore[call-overload]
        set_frozen(made, "_key", key)
        for name, value in zip(names, args):  # noqa: B905  strict=True costs as much as the rest of the line
            set_frozen(made, name, value)
        made.__post_init__()
        return made


class Node(metaclass=Interned):
    """A frozen record of public fields. Equality is identity; facts are derived when it is built.

    Fields are nodes, strings, whole numbers, fractions, None, or tuples of these. Any number that an
    analyst typed is a ``Lit``, because in Python 1 == 1.0 == True would make one node of three.
    """

    kind: ClassVar[str] = ""

    # Computed on first use. The defaults are attributes of the class: a node without entries of its own is smaller.
    _digest: bytes | None = None
    _name: str | None = None
    _shown: str | None = None
    _children: tuple[Node, ...] | None = None
    _height: int | None = None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        classes.add(cls)
        if cls.__dict__.get("kind"):
            if cls.kind in registry:
                raise TypeError(f"two operations are called {cls.kind!r}")
            registry[cls.kind] = cls

    def fact(self, **facts: Any) -> None:
        """Set derived facts, once, while the node is built."""
        for name, value in facts.items():
            set_frozen(self, name, value)

    def __post_init__(self) -> None:
        """Derive the facts, or refuse."""

    _key: tuple[Any, ...]  # the class and the fields

    def fields(self) -> tuple[Any, ...]:
        return self._key[1:]

    @property
    def name(self) -> str:
        """A name that depends on the expression alone, not on the process that built it."""
        known = self._name
        if known is None:
            known = (self._digest or self.digest()).hex()
            set_frozen(self, "_name", known)
        return known

    def digest(self) -> bytes:
        """The name as bytes: a hash of the kind and the fields, where each node among them stands as its own digest."""
        for child in children(self):
            if child._digest is None:
                for each in inputs_first((child,), children, _has_digest):
                    each._set_digest()
        return self._set_digest()

    def _set_digest(self) -> bytes:
        fields = _spell(self._key[1:])
        hashed = EMPTY.copy()
        hashed.update(b"%bt%d:%b" % (_spelled_kind(type(self)), len(fields), fields))
        found = hashed.digest()
        set_frozen(self, "_digest", found)
        return found

    def digest_if(self, digest_of: Callable[[Node], bytes]) -> bytes:
        """The digest that this node would have if the nodes among its fields had these."""
        fields = _spell(self._key[1:], digest_of)
        return blake2b(b"%bt%d:%b" % (_spelled_kind(type(self)), len(fields), fields), digest_size=32).digest()

    def spell_out(self) -> str:
        """A short text for people; what uses other nodes may ask for theirs."""
        return ""

    def quotes(self) -> Iterator[Node]:
        """The nodes whose texts are part of this one's, one by one: texts that would be cut off are not made."""
        return iter(children(self))

    def shown(self) -> str:
        """The text of this node, made once, after those that it quotes."""
        known = self._shown
        if known is not None:
            return known
        for each in inputs_first((self,), _quotes, _has_text):
            text = each.spell_out()
            if len(text) > LONGEST:  # cut in the middle: the beginning names the data, the end what was asked of it
                text = f"{text[:HEAD]}…{text[HEAD + 1 - LONGEST :]}"
            set_frozen(each, "_shown", text)
        assert self._shown is not None
        return self._shown

    def height(self) -> int:
        """How many nodes the longest path down from this one has, itself included."""
        known = self._height
        if known is not None:
            return known
        highest = 0
        for child in children(self):
            below = child._height
            if below is None:
                for each in inputs_first((child,), children, _has_height):
                    set_frozen(each, "_height", 1 + max([c._height or 0 for c in children(each)], default=0))
                below = child._height or 0
            if below > highest:
                highest = below
        set_frozen(self, "_height", highest + 1)
        return highest + 1

    def __copy__(self) -> Node:
        return self

    def __deepcopy__(self, memo: Any) -> Node:
        return self

    def __reduce__(self) -> Any:
        raise TypeError("plan nodes do not pickle: they are rebuilt, and checked again, from their fields")


registry: dict[str, type[Node]] = {}
classes: set[type] = set()  # all node classes: ``type(x) in classes`` is a fast isinstance(x, Node)


def inputs_first(
    nodes: Iterable[T], below: Callable[[T], Iterable[T]], known: Callable[[T], object] | None = None
) -> Iterator[T]:
    """Yield these nodes and everything below them, each once and after all that is below it.

    ``below`` gives the nodes directly below one. ``known`` says which nodes to skip, with all that is below them; the
    caller must make it true for each node before taking the next one. Without ``known``, the walk keeps a set of the
    nodes it has visited. ``below`` may be a generator: it is resumed when the nodes that it yielded are done.

    >>> list(inputs_first([6], lambda n: [d for d in range(1, n) if n % d == 0]))
    [1, 2, 3, 6]
    """
    if known is None:
        seen: set[T] = set()
        known, visited = seen.__contains__, seen.add
    else:
        visited = None
    path = [iter(nodes)]  # for each node on the way down: which nodes below it are still to be visited
    users: list[T] = []  # the nodes on the way down: path[i + 1] yields the inputs of users[i]
    while path:
        for node in path[-1]:
            if known(node):
                continue
            inputs = below(node)
            if inputs == ():  # a leaf: nothing to come back to
                yield node
                if visited is not None:
                    visited(node)
                continue
            path.append(iter(inputs))
            users.append(node)
            break
        else:  # all below is done
            path.pop()
            if users:
                node = users.pop()
                yield node
                if visited is not None:
                    visited(node)


def children(node: Node) -> tuple[Node, ...]:
    """The nodes among a node's fields."""
    known = node._children
    if known is None:
        found: list[Node] = []
        _add_nodes(node._key, found)
        known = tuple(found)
        set_frozen(node, "_children", known)
    return known


def _add_nodes(values: tuple[Any, ...], found: list[Node]) -> None:
    for value in values:
        if type(value) in classes:
            found.append(value)
        elif isinstance(value, tuple):
            _add_nodes(value, found)


def _has_text(node: Node) -> bool:
    return node._shown is not None  # which may be empty


# These run in C; the walk calls them at every step.
_has_digest, _has_height, _quotes = attrgetter("_digest"), attrgetter("_height"), methodcaller("quotes")


@dataclass_transform(frozen_default=True, eq_default=False, field_specifiers=(dataclasses.field,))
def node(cls: type[T]) -> type[T]:
    """A node class: frozen, compared by identity, positional fields."""
    return dataclass(frozen=True, eq=False, repr=False)(cls)


@node
class Lit(Node):
    """A public constant, with its type: Lit.of(1), Lit.of(1.0) and Lit.of(True) are three nodes."""

    kind = "literal"
    type_: str
    spelling: str

    _value: ClassVar[Any] = NOT_YET
    _children, _height, _shown = (), 1, ""  # the same for all constants: long lists of them need not be walked

    @staticmethod
    def of(value: Any) -> Lit:
        if type(value) is str:  # the most frequent
            return Lit("text", value if value.isascii() else _encodable(value))
        if type(value) is float:  # edges of histograms come by the hundred
            return Lit("float", value.hex())
        if type(value) is int:
            return Lit("int", str(value))
        for name, (accepts, spell, _) in _LITERALS.items():
            if accepts(value):
                return Lit(name, spell(value))
        raise TypeError(f"a public constant must be a number, text, bool, date or None, not {type(value).__name__}")

    @property
    def value(self) -> Any:
        known = self._value
        if known is NOT_YET:
            known = _LITERALS[self.type_][2](self.spelling)
            object.__setattr__(self, "_value", known)
        return known

    def __repr__(self) -> str:
        return repr(self.value)


def _encodable(text: str) -> str:
    """Text that can be written as UTF-8. Half of a surrogate pair cannot: no engine and no wire takes it."""
    try:
        text.encode()
    except UnicodeEncodeError:
        pass
    else:
        return text
    raise PlanError("a public constant must be text that UTF-8 can write: this one holds half of a surrogate pair")


def _is_int(x: Any) -> bool:
    return isinstance(x, int) or (hasattr(x, "dtype") and x.dtype.kind in "iu" and x.ndim == 0)


def _is_float(x: Any) -> bool:
    return isinstance(x, float) or (hasattr(x, "dtype") and x.dtype.kind == "f" and x.ndim == 0)


def _is_bool(x: Any) -> bool:
    return isinstance(x, bool) or (hasattr(x, "dtype") and x.dtype.kind == "b" and x.ndim == 0)


_EPOCH = datetime.datetime(1970, 1, 1)


def micros(moment: datetime.datetime | datetime.date) -> int:
    """Microseconds since 1970, exactly."""
    if not isinstance(moment, datetime.datetime):
        moment = datetime.datetime(moment.year, moment.month, moment.day)
    if moment.tzinfo is not None:
        moment = moment.astimezone(datetime.UTC).replace(tzinfo=None)
    return (moment - _EPOCH) // datetime.timedelta(microseconds=1)


def moment(us: int) -> datetime.datetime:
    return _EPOCH + datetime.timedelta(microseconds=us)


_LITERALS: dict[str, tuple[Any, Any, Any]] = {
    # type: (accepts, spelling, value); the first that accepts wins, so bool stands before int
    "none": (lambda x: x is None, lambda x: "", lambda s: None),
    "bool": (_is_bool, lambda x: str(bool(x)), lambda s: s == "True"),
    "int": (_is_int, lambda x: str(int(x)), int),
    "float": (_is_float, lambda x: float(x).hex(), float.fromhex),
    "text": (lambda x: isinstance(x, str), str, str),
    "time": (lambda x: isinstance(x, datetime.date), lambda x: str(micros(x)), lambda s: moment(int(s))),
}


@cache
def _spelled_kind(cls: type[Node]) -> bytes:
    return _spell((cls.kind,))


def _spell(parts: Iterable[Any], digest_of: Callable[[Node], bytes] | None = None) -> bytes:
    """An unambiguous spelling: every part carries its type and its length."""
    out = []
    for part in parts:
        if type(part) in classes:  # the most frequent
            out.append(b"N32:" + (part._digest or part.digest() if digest_of is None else digest_of(part)))
            continue
        if isinstance(part, str):
            kind, body = b"s", part.encode("utf-8", "surrogatepass")
        elif part is None:
            out.append(b"n0:")
            continue
        elif isinstance(part, tuple):
            kind, body = b"t", _spell(part, digest_of)
        else:
            kind, body = _spell_other(part)
        out.append(b"%b%d:%b" % (kind, len(body), body))
    return b"".join(out)


def _spell_other(part: Any) -> tuple[bytes, bytes]:
    match part:
        case bool():
            return b"b", str(part).encode()
        case int():
            return b"i", str(part).encode()
        case Fraction():
            return b"f", f"{part.numerator}/{part.denominator}".encode()
        case _ if dataclasses.is_dataclass(part):
            values = [(f, getattr(part, f.name)) for f in dataclasses.fields(part)]
            said = (value for f, value in values if not f.metadata.get(LATER) or value != f.default)
            return b"d", _spell((type(part).__name__, *said))
        case float():
            return b"x", part.hex().encode()
    raise TypeError(f"a node cannot hold a {type(part).__name__}")
