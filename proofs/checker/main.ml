(* Reads certificates, one JSON text on each line, and answers each on a line: what `privjail check --certified` runs.

   Which certificates are right decides `accepts` of certified.ml, which Coq wrote from proofs/Certified.v. This file only
   reads: a certificate in which anything is not understood is answered with "cannot check". *)

open Certified

exception Cannot of string

let cannot reason = raise (Cannot reason)

(* -- JSON *)

type json = Null | Bool of bool | Number of string | Text of string | List of json list | Object of (string * json) list

let parse (s : string) : json =
  let n = String.length s and i = ref 0 in
  let peek () = if !i < n then s.[!i] else cannot "the JSON text ends too early" in
  let rec blank () = if !i < n && (match s.[!i] with ' ' | '\t' | '\r' | '\n' -> true | _ -> false) then (incr i; blank ()) in
  let expect c = if peek () <> c then cannot "no JSON" else incr i in
  let word w value =
    let k = String.length w in
    if !i + k <= n && String.sub s !i k = w then (i := !i + k; value) else cannot "no JSON" in
  let text () =
    expect '"';
    let b = Buffer.create 16 in
    let rec go () =
      match peek () with
      | '"' -> incr i
      | '\\' ->
          incr i;
          (match peek () with
           | 'u' ->
               if !i + 5 > n then cannot "no JSON";
               Buffer.add_string b ("\\u" ^ String.sub s (!i + 1) 4); i := !i + 5
           | c -> Buffer.add_char b (match c with 'n' -> '\n' | 't' -> '\t' | c -> c); incr i);
          go ()
      | c -> Buffer.add_char b c; incr i; go () in
    go ();
    Buffer.contents b in
  let rec value depth =
    if depth > 500 then cannot "the JSON text is too deep";
    blank ();
    let found = match peek () with
      | '{' -> incr i; blank (); if peek () = '}' then (incr i; Object []) else Object (members depth)
      | '[' -> incr i; blank (); if peek () = ']' then (incr i; List []) else List (elements depth)
      | '"' -> Text (text ())
      | 'n' -> word "null" Null
      | 't' -> word "true" (Bool true)
      | 'f' -> word "false" (Bool false)
      | _ ->
          let start = !i in
          while !i < n && (match s.[!i] with '0' .. '9' | '-' | '+' | '.' | 'e' | 'E' -> true | _ -> false) do incr i done;
          if !i = start then cannot "no JSON" else Number (String.sub s start (!i - start)) in
    blank (); found
  and elements depth =
    let first = value (depth + 1) in
    if peek () = ',' then (incr i; first :: elements depth) else (expect ']'; [first])
  and members depth =
    blank ();
    let name = text () in
    blank (); expect ':';
    let first = (name, value (depth + 1)) in
    if peek () = ',' then (incr i; first :: members depth) else (expect '}'; [first]) in
  let found = value 0 in
  if !i <> n then cannot "more than one JSON text"; found

(* A name that stands there twice could be read in two ways. *)
let get name = function
  | Object members ->
      (match List.filter (fun (n, _) -> n = name) members with
       | [(_, v)] -> v
       | _ -> cannot ("no " ^ name))
  | _ -> cannot ("no " ^ name)

let list = function List l -> l | _ -> cannot "no list"

(* -- numbers *)

let big = Big_int_Z.big_int_of_string

let digits s = if s = "" || String.exists (fun c -> c < '0' || c > '9') s then cannot "no number" else s

let whole s =
  if String.length s > 4000 then cannot "a number is too long";
  match s.[0] with
  | '-' -> Big_int_Z.minus_big_int (big (digits (String.sub s 1 (String.length s - 1))))
  | _ -> big (digits s)
  | exception Invalid_argument _ -> cannot "no number"

let fraction s : q =
  match String.index_opt s '/' with
  | Some at ->
      let bottom = whole (String.sub s (at + 1) (String.length s - at - 1)) in
      if Big_int_Z.sign_big_int bottom <= 0 then cannot "no number";
      { qnum = whole (String.sub s 0 at); qden = bottom }
  | None -> { qnum = whole s; qden = Big_int_Z.unit_big_int }

let number = function Text s | Number s -> fraction s | _ -> cannot "no number"

let integer = function Number s -> whole s | _ -> cannot "no whole number"

let times a b = { qnum = Big_int_Z.mult_big_int a.qnum b.qnum; qden = Big_int_Z.mult_big_int a.qden b.qden }

let at_most a b =
  Big_int_Z.le_big_int (Big_int_Z.mult_big_int a.qnum b.qden) (Big_int_Z.mult_big_int b.qnum a.qden)

let zero = { qnum = Big_int_Z.zero_big_int; qden = Big_int_Z.unit_big_int }
let one = { qnum = Big_int_Z.unit_big_int; qden = Big_int_Z.unit_big_int }

let rec peano n = if n <= 0 then O else S (peano (n - 1))

(* -- certificates *)

let nodes certificate = Array.of_list (list (get "nodes" certificate))

let small j = match integer j with n when Big_int_Z.is_int_big_int n -> Big_int_Z.int_of_big_int n | _ -> cannot "no place"

(* A field that is an earlier node. *)
let earlier at = function
  | Object [ ("node", j) ] -> let n = small j in if 0 <= n && n < at then n else cannot "a node that is not an earlier one"
  | _ -> cannot "a field that is no node"

let kind node = match get "kind" node with Text s -> s | _ -> cannot "no kind"

(* Which plan a node is; and whether a rule of the library is not in the theorem, so that it may claim less. *)
let rec plan all certificate at : plan * json * bool =
  let node = all.(at) in
  let fields = list (get "fields" node) in
  let empty = list (get "cells" (get "claims" node)) = [] in
  match kind node, fields with
  | "source", [ which ] ->
      let sets = list (get "data sets" certificate) in
      let n = small which in
      if n < 0 || n >= List.length sets then cannot "no such data set";
      Source, List.nth sets n, false
  | "filter", [ rows; _ ] ->
      let p, set, loose = plan all certificate (earlier at rows) in
      Filter (peano at, p), set, loose || empty
  | "sort", rows :: _ ->
      let p, set, loose = plan all certificate (earlier at rows) in
      Sort (peano at, p), set, loose
  | "slice", [ rows; start; stop ] ->
      let p, set, loose = plan all certificate (earlier at rows) in
      let bound = function Null -> None | j -> Some (integer j) in
      Slice (bound start, bound stop, p), set, loose
  | "window", [ rows; before; after ] ->
      let p, set, loose = plan all certificate (earlier at rows) in
      Window (integer before, integer after, p), set, loose
  | "group_head", [ rows; _; most ] ->
      let p, set, loose = plan all certificate (earlier at rows) in
      let k = integer most in
      if Big_int_Z.sign_big_int k < 1 then cannot "no rows of a group";
      let owned = match list (get "unit" set) with Null :: _ -> false | _ -> true in
      GroupHead (peano at, k, p), set, loose || owned
  | name, _ -> cannot ("rows by " ^ name)

(* What a row adds: missing values add nothing, so 0 is always in the range. *)
let summand all at = function
  | Null -> One
  | field ->
      let n = earlier at field in
      let domain = get "domain" (get "claims" all.(n)) in
      (match get "type" domain with
       | Text "boolean" -> Between (peano n, zero, one)
       | Text ("Int64" | "Float64") ->
           (match list (get "range" domain) with
            | [ low; high ] ->
                let low, high = number low, number high in
                Between (peano n, (if at_most low zero then low else zero), (if at_most zero high then high else zero))
            | _ -> cannot "no range")
       | _ -> cannot "a sum of something else than numbers")

(* The tally below public factors. *)
let rec value all at factor =
  let fields = list (get "fields" all.(at)) in
  match kind all.(at), fields with
  | "scale", [ a; Object [ ("fraction", Text c) ] ] -> value all (earlier at a) (times factor (fraction c))
  | "tally", [ rows; keys; adds ] -> at, earlier at rows, list keys <> [], summand all at adds, factor
  | name, _ -> cannot ("numbers by " ^ name)

let certified line : string =
  let certificate = parse line in
  let all = nodes certificate in
  let release = get "release" certificate in
  let mechanism = get "mechanism" release and noise = get "noise" release in
  if get "kind" mechanism <> Text "laplace" then cannot "another mechanism than laplace";
  let top = small (get "value" release) in
  if top < 0 || top >= Array.length all then cannot "no such value";
  let tally, rows, keyed, adds, factor = value all top one in
  let p, set, loose = plan all certificate rows in
  if get "kind" (get "notion" set) <> Text "pure" then cannot "another notion than pure ε";
  let unit_rows = match list (get "unit" set) with [ _; Number s ] -> whole s | _ -> cannot "no bound on a unit's rows" in
  if Big_int_Z.sign_big_int unit_rows < 1 then cannot "no rows of a unit";
  let grid = number (get "grid" noise) in
  let own = number (get "grid" (get "claims" all.(top))) in
  if not (at_most grid own && at_most own grid) then cannot "noise on another grid than the value's";
  let charges =
    match get "charges" release with
    | List l -> List.map (function List [ _; List [ x ] ] -> number x | _ -> cannot "no charge of ε") l
    | _ -> cannot "the certificate does not say what was charged" in
  let stated = number (get "sensitivity" noise) in
  let certificate = {
    unit_rows; rows = p; keyed = (if keyed then Some (peano tally) else None); adds; factor;
    sensitivity = stated; scale = times (number (get "scale" noise)) grid;
    epsilon = number (get "epsilon" mechanism); charged = charges } in
  if accepts certificate then "ok"
  else if loose then cannot "a rule of the library that is not in the theorem"
  else "refuted"

let () =
  try
    while true do
      let line = input_line stdin in
      print_endline (try certified line with
        | Cannot reason -> "cannot check: " ^ reason
        | Failure _ | Invalid_argument _ | Not_found | Stack_overflow -> "cannot check: the certificate is malformed")
    done
  with End_of_file -> ()
