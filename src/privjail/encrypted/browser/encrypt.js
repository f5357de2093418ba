"use strict";
// One owner's record, as records.py makes it: the same bytes from the same draws. Only WebCrypto is used. Numbers are whole and below 2**24,
// their products below 2**48, so ordinary numbers hold them exactly.
const P = 16760833, TESTS = 3;
const text = new TextEncoder();
const joined = (...parts) => {
  const all = new Uint8Array(parts.reduce((n, part) => n + part.length, 0));
  let at = 0;
  for (const part of parts) { all.set(part, at); at += part.length; }
  return all;
};

// A hash of parts of fixed lengths; the tag tells its purpose.
async function tagged(tag, ...parts) {
  const head = new Uint8Array(32);
  head.set(text.encode("privjail " + tag));
  return new Uint8Array(await crypto.subtle.digest("SHA-256", joined(head, ...parts)));
}

// AES-256 in counter mode, from 0.
async function stream(key, size) {
  const made = await crypto.subtle.importKey("raw", key, "AES-CTR", false, ["encrypt"]);
  return new Uint8Array(await crypto.subtle.encrypt({name: "AES-CTR", counter: new Uint8Array(16), length: 128}, made, new Uint8Array(size)));
}

// n numbers that the key stands for; those that are too large are passed over.
async function expanded(key, n) {
  const drawn = n + Math.floor(n / 64) + 32, raw = await stream(key, 3 * drawn), found = [];
  for (let i = 0; i < drawn && found.length < n; i++) {
    const value = raw[2 * i] | raw[2 * i + 1] << 8 | raw[2 * drawn + i] << 16;
    if (value < P) found.push(value);
  }
  if (found.length < n) throw new Error("this key cannot be used");
  return found;
}

function square(bins) {
  let columns = Math.ceil(Math.sqrt(bins));
  while (columns * columns < bins) columns++;
  while ((columns - 1) * (columns - 1) >= bins) columns--;
  return [Math.ceil(bins / columns), columns];
}

// α and β of each test, out of a hash of both servers' parts of the record.
async function challenges(seed, bins) {
  const [rows, columns] = square(bins), each = rows + columns, n = TESTS * each;
  const raw = new DataView((await stream(await tagged("one-hot", seed), 8 * n)).buffer);
  const numbers = Array.from({length: n}, (_, i) => Number(raw.getBigUint64(8 * i, true) % BigInt(P)));
  return Array.from({length: TESTS}, (_, t) => [numbers.slice(t * each, t * each + rows), numbers.slice(t * each + rows, (t + 1) * each)]);
}

// z = Σ α β M and s = Σ α² β² M modulo P, for each test.
function sketches(values, drawn, bins) {
  const columns = square(bins)[1], z = [], s = [];
  for (const [alpha, beta] of drawn) {
    let zs = 0, ss = 0;
    values.forEach((value, i) => {
      const both = alpha[Math.floor(i / columns)] * beta[i % columns] % P;
      zs = (zs + both * value) % P;
      ss = (ss + both * both % P * value) % P;
    });
    z.push(zs);
    s.push(ss);
  }
  return [z, s];
}

const mod = number => ((number % P) + P) % P;
const spelled = (...lists) => {
  const all = lists.flat(), raw = new DataView(new ArrayBuffer(4 * all.length));
  all.forEach((number, i) => raw.setUint32(4 * i, number, true));
  return new Uint8Array(raw.buffer);
};

// For the decryption server alone: X25519 with a key that is used once, HKDF-SHA256, AES-256-GCM.
async function sealed(receiver, study, content, once) {
  const pkcs8 = joined(new Uint8Array([0x30, 0x2e, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 0x65, 0x6e, 4, 0x22, 4, 0x20]), once);
  const own = await crypto.subtle.importKey("pkcs8", pkcs8, "X25519", true, ["deriveBits"]);
  const {x} = await crypto.subtle.exportKey("jwk", own);
  const sender = Uint8Array.from(atob(x.replaceAll("-", "+").replaceAll("_", "/")), c => c.charCodeAt(0));
  const theirs = await crypto.subtle.importKey("raw", receiver, "X25519", false, []);
  const shared = await crypto.subtle.deriveBits({name: "X25519", public: theirs}, own, 256);
  const base = await crypto.subtle.importKey("raw", shared, "HKDF", false, ["deriveKey"]);
  const info = joined(text.encode("privjail envelope 2"), study, sender, receiver);
  const key = await crypto.subtle.deriveKey({name: "HKDF", hash: "SHA-256", salt: new Uint8Array(0), info}, base, {name: "AES-GCM", length: 256},
                                            false, ["encrypt"]);
  return joined(sender, new Uint8Array(await crypto.subtle.encrypt({name: "AES-GCM", iv: new Uint8Array(12)}, key, content)));
}

// All that chance decides in one record; used once.
function fresh() {
  const bytes = size => crypto.getRandomValues(new Uint8Array(size)), masked = [];
  while (masked.length < TESTS) {
    const [a, b, c] = bytes(3), value = a | b << 8 | c << 16;
    if (value < P) masked.push(value); // folding those that are too large would favour some
  }
  return {key: bytes(32), blind: bytes(32), masked, once: bytes(32)};
}

// The record of bin `value`, or of nothing (null), for the study {study, receiver, bins}.
async function encrypted({study, receiver, bins}, value, drawn = fresh()) {
  const {key, blind, masked, once} = drawn, found = await expanded(key, bins + 2 * TESTS);
  const pad = found.slice(0, bins), a = found.slice(bins, bins + TESTS), b = found.slice(bins + TESTS);
  const values = pad.map((number, i) => (number + (i === value ? 1 : 0)) % P);
  const ours = masked.map((A, t) => mod(A - a[t])), squares = masked.map((A, t) => mod(A * A % P - b[t]));
  const body = new Uint8Array(3 * bins), masks = spelled(ours, squares);
  values.forEach((number, i) => { body[2 * i] = number & 255; body[2 * i + 1] = number >> 8 & 255; body[2 * bins + i] = number >> 16; });
  const name = await tagged("key", study, key), part = await tagged("compute part", study, blind, body, masks);
  const drawnNumbers = await challenges(await tagged("challenge", part, name), bins);
  const opened = sketches(values, drawnNumbers, bins)[0].map((z, t) => (z + ours[t]) % P);
  const [z, s] = sketches(pad.map(number => mod(-number)), drawnNumbers, bins);
  const own = z.map((number, t) => (number + a[t]) % P);
  const outcome = own.map((number, t) => mod(-2 * ((number + opened[t]) % P * a[t] % P) + b[t] - s[t]));
  const expected = await tagged("answer", name, spelled(own, outcome)), promised = await tagged("opening", part, spelled(opened));
  return joined(body, blind, name, expected, masks, await sealed(receiver, study, joined(key, promised), once));
}
