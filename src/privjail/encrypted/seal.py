"""SEAL through TenSEAL: contexts, keys, and ciphertexts as plain arrays of numbers.

The binding reads and writes files only, so bytes go through a file: in memory where the system has such files. A
ciphertext as SEAL stores it is a head of 97 bytes and then, for c0 and c1 and each prime, the coefficients as words of
64 bits.
"""

from __future__ import annotations

import os
import struct
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from privjail.encrypted.numbers import KEY_PRIME, PRIMES, SLOTS, P, Words
from privjail.errors import DPError

HEAD = struct.Struct("<HBBBBHQ")  # SEAL's header: magic, its own size, version, compression, reserved, total size
MAGIC, HEAD_SIZE, VERSION, PLAIN = 0xA15E, 16, (4, 3), 0
INSIDE = 97  # parms_id, form, sizes, scale, correction factor, and the header of the words


def api() -> Any:
    try:
        import tenseal.sealapi as found
    except ImportError:
        raise DPError("encryption needs another package", do="pip install 'privjail-dp[encrypted]'") from None
    return found


@contextmanager
def _file(content: bytes = b"") -> Iterator[Path]:
    """A file with this content: in memory where the system can, else in a folder that only this user can read."""
    if not hasattr(os, "memfd_create"):
        with tempfile.TemporaryDirectory(prefix="privjail-") as folder:
            path = Path(folder) / "seal"
            path.write_bytes(content)
            yield path
        return
    fd = os.memfd_create("privjail")
    try:
        path = Path(f"/proc/self/fd/{fd}")
        if content:
            path.write_bytes(content)
        yield path
    finally:
        os.close(fd)


def saved(thing: Any) -> bytes:
    """What SEAL writes for a key or a ciphertext."""
    with _file() as path:
        thing.save(str(path))
        return path.read_bytes()


def _unpacked(raw: bytes, size: int) -> bytes:
    """What SEAL wrote, without its header."""
    import pyarrow as pa

    if HEAD.unpack(raw[:HEAD_SIZE])[4] == PLAIN:
        return raw[HEAD_SIZE:]
    body: bytes = pa.Codec("zstd").decompress(raw[HEAD_SIZE:], size).to_pybytes()
    return body


class Scheme:
    """One BFV parameter set, refused by SEAL itself if it were weaker than 128 bits."""

    def __init__(self, degree: int, primes: Sequence[int]) -> None:
        s = self.seal = api()
        parameters = s.EncryptionParameters(s.SCHEME_TYPE.BFV)
        parameters.set_poly_modulus_degree(degree)
        parameters.set_coeff_modulus([s.Modulus(prime) for prime in primes])
        parameters.set_plain_modulus(s.Modulus(P))
        self.context = s.SEALContext(parameters, True, s.SEC_LEVEL_TYPE.TC128)
        level = self.context.key_context_data().qualifiers().sec_level
        if not self.context.parameters_set() or level != s.SEC_LEVEL_TYPE.TC128:
            raise DPError(f"these parameters are not safe: {self.context.parameters_error_message()}")
        self.degree, self.primes = degree, tuple(primes[:-1] or primes)  # with several, the last is for keys only

    @cached_property
    def evaluator(self) -> Any:
        return self.seal.Evaluator(self.context)

    @cached_property
    def encoder(self) -> Any:
        return self.seal.BatchEncoder(self.context)

    def warm(self) -> None:
        """Make now what is made once, so that no caller has to wait for it later."""
        _ = self.evaluator, self.encoder, self._heads

    @cached_property
    def _heads(self) -> dict[int, bytes]:
        """How a ciphertext over so many primes begins."""
        generator = self.seal.KeyGenerator(self.context)
        some, public = self.seal.Ciphertext(), self.seal.PublicKey()
        generator.create_public_key(public)
        self.seal.Encryptor(self.context, public).encrypt_zero(some)
        heads = {}
        for left in range(len(self.primes), 0, -1):
            heads[left] = self._body(some)[:INSIDE]
            if left > 1:
                self.evaluator.mod_switch_to_next_inplace(some)
        return heads

    def _body(self, ciphertext: Any) -> bytes:
        return _unpacked(saved(ciphertext), INSIDE + 16 * self.degree * ciphertext.coeff_modulus_size())

    def words(self, ciphertext: Any) -> Words:
        """The coefficients: [c0 or c1, prime, coefficient]."""
        words = np.frombuffer(self._body(ciphertext), dtype="<u8", offset=INSIDE)
        return words.reshape(2, -1, self.degree)

    def ciphertext(self, words: Words) -> Any:
        """The ciphertext with these coefficients. SEAL checks that they are in range."""
        body = self._heads[words.shape[1]] + np.ascontiguousarray(words, dtype="<u8").tobytes()
        head = HEAD.pack(MAGIC, HEAD_SIZE, *VERSION, PLAIN, 0, HEAD_SIZE + len(body))
        return self.loaded(self.seal.Ciphertext(), head + body)

    def loaded(self, thing: Any, raw: bytes) -> Any:
        """A key or ciphertext read from bytes that somebody else sent."""
        with _file(raw) as path:
            try:
                thing.load(self.context, str(path))
            except (RuntimeError, ValueError):
                raise DPError("these bytes are no key or ciphertext of this study") from None
        return thing

    def new_keys(self) -> tuple[bytes, bytes]:
        """A public key and its secret key."""
        generator = self.seal.KeyGenerator(self.context)
        public = self.seal.PublicKey()
        generator.create_public_key(public)
        return saved(public), saved(generator.secret_key())


@lru_cache(maxsize=1)
def slots() -> Scheme:
    """What the servers compare with: 8192 numbers side by side."""
    return Scheme(SLOTS, (*PRIMES, KEY_PRIME))


class Public:
    """What a public key can do."""

    def __init__(self, scheme: Scheme, public: bytes) -> None:
        self.scheme = scheme
        key = scheme.loaded(scheme.seal.PublicKey(), public)
        self._encryptor = scheme.seal.Encryptor(scheme.context, key)

    def zero(self) -> Any:
        """A fresh encryption of 0."""
        ciphertext = self.scheme.seal.Ciphertext()
        self._encryptor.encrypt_zero(ciphertext)
        return ciphertext


class Secret:
    """What a secret key can do."""

    def __init__(self, scheme: Scheme, secret: bytes) -> None:
        self.scheme = scheme
        self.key = scheme.loaded(scheme.seal.SecretKey(), secret)
        self._decryptor = scheme.seal.Decryptor(scheme.context, self.key)
        self._encryptor = scheme.seal.Encryptor(scheme.context, self.key)

    def slots(self, ciphertext: Any) -> Words:
        """The decrypted numbers, slot by slot."""
        plain = self.scheme.seal.Plaintext()
        self._decryptor.decrypt(ciphertext, plain)
        return np.array(self.scheme.encoder.decode_uint64(plain), dtype=np.uint64)

    def encrypted(self, numbers: Any) -> bytes:
        """Numbers in slots, encrypted. Half of the ciphertext is a seed, so it is half as long."""
        plain = self.scheme.seal.Plaintext()
        self.scheme.encoder.encode(np.asarray(numbers).tolist(), plain)
        return saved(self._encryptor.encrypt_symmetric(plain))

    def noise_bits(self, ciphertext: Any) -> int:
        """How many bits of noise are left before decryption fails."""
        return int(self._decryptor.invariant_noise_budget(ciphertext))
