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

(* -- which rows a column belongs to

   The theorem is about filters, orders, keys and values that are functions of one row. So a column that is used must be
   one of the rows at hand: of their *base*, the data set, slice, window or group head from which filters and sorts
   chose them. Row i of other rows is another row, and a look at other rows needs a window that holds them. *)

let row_wise = [
  "compare"; "cast"; "categorise"; "logic"; "not"; "arithmetic"; "cut"; "text"; "concat"; "constant"; "part"; "recode";
  "isin"; "isnull"; "function"; "clip"; "where"; "fillnull"; "nullwhere"; "dot"; "row_scale"; "truncate" ]

let rec base all at =
  match kind all.(at), list (get "fields" all.(at)) with
  | ("source" | "slice" | "window" | "group_head"), _ -> at
  | ("filter" | "sort"), rows :: _ -> base all (earlier at rows)
  | name, _ -> cannot ("rows by " ^ name)

let other_rows () = cannot "a column of other rows"

(* The base of the rows that some rows were made from. *)
let input_base all at =
  match list (get "fields" all.(at)) with
  | rows :: _ -> base all (earlier at rows)
  | [] -> cannot "rows that are made from nothing"

let meet one other =
  match one, other with
  | None, x | x, None -> x
  | Some x, Some y -> if x = y then one else other_rows ()

(* Whether a row of a window sees the row k above it. *)
let seen all at k =
  match kind all.(at), list (get "fields" all.(at)) with
  | "window", [ _; before; after ] ->
      Big_int_Z.le_big_int (Big_int_Z.minus_big_int (integer after)) k && Big_int_Z.le_big_int k (integer before)
  | _ -> false

(* The base of a column; None for one that is the same in all rows. Every column is looked at once. *)
let rec column_base all known at : int option =
  match Hashtbl.find_opt known at with
  | Some found -> found
  | None ->
      let inside into inner =
        match column_base all known (earlier at inner) with
        | None -> ()
        | Some there -> if there <> input_base all into then other_rows () in
      let found = match kind all.(at), list (get "fields" all.(at)) with
        | "column", [ rows; _ ] ->
            let n = earlier at rows in
            if kind all.(n) <> "source" then cannot "a column of no data set"; Some n
        | "carried", [ rows; inner ] ->
            let n = earlier at rows in
            (match kind all.(n) with
             | "slice" | "group_head" -> ()
             | "window" -> if not (seen all n Big_int_Z.zero_big_int) then other_rows ()
             | name -> cannot ("a column carried into rows by " ^ name));
            inside n inner; Some n
        | "lag", [ rows; inner; k ] ->
            let n = earlier at rows in
            if not (seen all n (integer k)) then cannot "a look at other rows than those of a window";
            inside n inner; Some n
        | name, fields ->
            if not (List.mem name row_wise) then cannot ("a column by " ^ name);
            List.fold_left meet None (List.map (field_base all known at) fields) in
      Hashtbl.add known at found; found

(* The base of all columns in a field. *)
and field_base all known at = function
  | Object [ ("node", _) ] as field -> column_base all known (earlier at field)
  | Object [ (("literal" | "fraction"), _) ] -> None
  | Object _ -> cannot "a field that is not understood"
  | List l -> List.fold_left meet None (List.map (field_base all known at) l)
  | _ -> None

(* The columns that node `at` uses belong to the rows that it works on. *)
let of_these_rows all known at rows field =
  match field_base all known at field with
  | None -> ()
  | Some there -> if there <> base all rows then other_rows ()

(* Which plan a node is; and whether a rule of the library is not in the theorem, so that it may claim less. *)
let rec plan all known certificate at : plan * json * bool =
  let node = all.(at) in
  let fields = list (get "fields" node) in
  let empty = list (get "cells" (get "claims" node)) = [] in
  match kind node, fields with
  | "source", [ which ] ->
      let sets = list (get "data sets" certificate) in
      let n = small which in
      if n < 0 || n >= List.length sets then cannot "no such data set";
      Source, List.nth sets n, false
  | "filter", [ rows; condition ] ->
      of_these_rows all known at (earlier at rows) condition;
      let p, set, loose = plan all known certificate (earlier at rows) in
      Filter (peano at, p), set, loose || empty
  | "sort", rows :: keys ->
      of_these_rows all known at (earlier at rows) (List keys);
      let p, set, loose = plan all known certificate (earlier at rows) in
      Sort (peano at, p), set, loose
  | "slice", [ rows; start; stop ] ->
      let p, set, loose = plan all known certificate (earlier at rows) in
      let bound = function Null -> None | j -> Some (integer j) in
      Slice (bound start, bound stop, p), set, loose
  | "window", [ rows; before; after ] ->
      let p, set, loose = plan all known certificate (earlier at rows) in
      Window (integer before, integer after, p), set, loose
  | "group_head", [ rows; key; most ] ->
      of_these_rows all known at (earlier at rows) key;
      let p, set, loose = plan all known certificate (earlier at rows) in
      let k = integer most in
      if Big_int_Z.sign_big_int k < 1 then cannot "no rows of a group";
      let owned = match list (get "unit" set) with Null :: _ -> false | _ -> true in
      GroupHead (peano at, k, p), set, loose || owned
  | name, _ -> cannot ("rows by " ^ name)

(* Whether a number is a whole multiple of a grid. *)
let on_grid grid x =
  let top = Big_int_Z.mult_big_int x.qnum grid.qden and bottom = Big_int_Z.mult_big_int x.qden grid.qnum in
  Big_int_Z.sign_big_int bottom > 0 && Big_int_Z.sign_big_int (Big_int_Z.mod_big_int top bottom) = 0

(* What a row adds, and whether the library may claim less: values are put on the grid before they are added, towards 0.
   Missing values add nothing, so 0 is always in the range. *)
let summand all at = function
  | Null -> One, false
  | field ->
      let n = earlier at field in
      let domain = get "domain" (get "claims" all.(n)) in
      (match get "type" domain with
       | Text "boolean" -> Between (peano n, zero, one), false
       | Text ("Int64" | "Float64") ->
           (match list (get "range" domain) with
            | [ low; high ] ->
                let low, high = number low, number high in
                let grid = number (get "grid" (get "claims" all.(at))) in
                Between (peano n, (if at_most low zero then low else zero), (if at_most zero high then high else zero)),
                not (on_grid grid low && on_grid grid high)
            | _ -> cannot "no range")
       | _ -> cannot "a sum of something else than numbers")

(* The tally below public factors. *)
let rec value all known at factor =
  let fields = list (get "fields" all.(at)) in
  match kind all.(at), fields with
  | "scale", [ a; Object [ ("fraction", Text c) ] ] -> value all known (earlier at a) (times factor (fraction c))
  | "tally", [ rows; keys; adds ] ->
      of_these_rows all known at (earlier at rows) (List [ keys; adds ]);
      at, earlier at rows, list keys <> [], summand all at adds, factor
  | name, _ -> cannot ("numbers by " ^ name)

let certified line : string =
  let certificate = parse line in
  if get "privjail certificate" certificate <> Number "1" then cannot "another version of certificates";
  let all = nodes certificate and known = Hashtbl.create 16 in
  let release = get "release" certificate in
  let mechanism = get "mechanism" release and noise = get "noise" release in
  if get "kind" mechanism <> Text "laplace" then cannot "another mechanism than laplace";
  let top = small (get "value" release) in
  if top < 0 || top >= Array.length all then cannot "no such value";
  let tally, rows, keyed, (adds, rounded), factor = value all known top one in
  let p, set, loose = plan all known certificate rows in
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
  else if loose || rounded then cannot "a rule of the library that is not in the theorem"
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
