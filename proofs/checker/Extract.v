(** Writes the checker of Certified.v as OCaml. Numbers become zarith's, which have no largest one. *)
From Coq Require Import Extraction ExtrOcamlBasic ExtrOcamlZBigInt.
From PrivJail Require Import Certified.
Extraction Language OCaml.
Extraction "certified.ml" Certified.accepts.
