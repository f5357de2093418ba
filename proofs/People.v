(** Several tables about the same persons (src/privjail/ops/rows/lookup.py, ops/rows/pairs.py, ops/rows/append.py).

    Neighbours lack one person, with all her rows in all tables. A table is _owned_ if the neighbour's table is the same
    table without her rows. What follows keeps tables owned, so her rows go out and nothing else moves. *)

From Coq Require Import List Arith Lia Bool.
From PrivJail Require Import Distance Rows Groups.
Import ListNotations.

Section Tables.
Context {A B P : Type} (same : forall x y : P, {x = y} + {x <> y}) (owner : A -> option P) (owner' : B -> option P).
Context (agree : A -> B -> bool).  (* further keys, of any kind *)

(** Owners are always compared. *)
Definition meets (x : A) (y : B) : bool :=
  match owner x with None => false | Some p => owns same owner' p y && agree x y end.

Lemma partners_stay : forall p x r, owns same owner p x = false ->
  filter (meets x) (without same owner' p r) = filter (meets x) r.
Proof.
  intros p x r not_hers. unfold without. induction r as [|y r IH]; simpl; auto.
  destruct (owns same owner' p y) eqn:hers; simpl; [|rewrite IH; auto].
  rewrite IH. replace (meets x y) with false; auto. unfold meets, owns in *.
  destruct (owner x) as [q|]; auto. destruct (owner' y) as [v|]; [|discriminate].
  destruct (same v p) as [->|]; [|discriminate]. destruct (same p q) as [->|]; auto.
  destruct (same q q); congruence.
Qed.

(** ** A row for each partner, or whatever else is made of a row and its partners *)

Context {C : Type} (make : A -> list B -> list C).
Definition of_first (row : A * C) : option P := owner (fst row).
Definition expand (l : list A) (r : list B) : list (A * C) :=
  flat_map (fun x => map (pair x) (make x (filter (meets x) r))) l.

Lemma filter_all : forall (q : A * C -> bool) (b : bool) x m, (forall y, q (x, y) = b) ->
  filter q (map (pair x) m) = if b then map (pair x) m else [].
Proof.
  intros q b x m all. induction m as [|y m IH]; simpl; [destruct b; auto|]. rewrite all, IH. destruct b; auto.
Qed.

(** Without a person: the same rows without hers. *)
(* op: lookup *)
Theorem expand_is_owned : forall p l r,
  expand (without same owner p l) (without same owner' p r) = without same of_first p (expand l r).
Proof.
  intros p l r. unfold without at 1 3, expand. induction l as [|x l IH]; simpl; auto.
  rewrite filter_app, <- IH, (filter_all _ (negb (owns same owner p x))) by reflexivity.
  destruct (owns same owner p x) eqn:hers; simpl; auto. rewrite partners_stay; auto.
Qed.

Lemma rows_of_expanded : forall p l r m, (forall x, length (make x (filter (meets x) r)) <= m) ->
  length (rows_of same of_first p (expand l r)) <= length (rows_of same owner p l) * m.
Proof.
  intros p l r m few. unfold rows_of, expand. induction l as [|x l IH]; simpl; auto.
  rewrite filter_app, app_length, (filter_all _ (owns same owner p x)) by reflexivity.
  destruct (owns same owner p x); simpl; auto. rewrite map_length. specialize (few x). lia.
Qed.

(** A row that meets at most m others becomes at most m rows: m times the distance. *)
Theorem expand_multiplies : forall p l r k m, length (rows_of same owner p l) <= k ->
  (forall x, length (make x (filter (meets x) r)) <= m) ->
  Within 0 (k * m) (expand l r) (expand (without same owner p l) (without same owner' p r)).
Proof.
  intros p l r k m few each. rewrite expand_is_owned. apply source_one_person.
  etransitivity; [apply rows_of_expanded; eauto|]. apply Nat.mul_le_mono_r; auto.
Qed.
End Tables.

(** ** A column of the one row with the same owner *)

Section Lookup.
Context {A B P V : Type} (same : forall x y : P, {x = y} + {x <> y}) (owner : A -> option P) (owner' : B -> option P).
Context (agree : A -> B -> bool) (value : B -> V).

Definition look_up (x : A) (partners : list B) : list (option V) := [option_map value (hd_error partners)].
Definition with_column : list A -> list B -> list (A * option V) := expand same owner owner' agree look_up.

(** The distance is that of the table itself, whatever is looked up. *)
(* op: lookup *)
Theorem lookup_keeps_the_distance : forall p l r k, length (rows_of same owner p l) <= k ->
  Within 0 k (with_column l r) (with_column (without same owner p l) (without same owner' p r)).
Proof.
  intros p l r k few. unfold with_column. rewrite <- (Nat.mul_1_r k). apply expand_multiplies; auto.
Qed.

(** What is found stands in a row of the same person: so rows with one value belong to persons with that value. *)
(* op: lookup *)
Theorem found_at_the_same_person : forall x r v,
  look_up x (filter (meets same owner owner' agree x) r) = [Some v] ->
  exists y, In y r /\ owner' y = owner x /\ value y = v.
Proof.
  intros x r v found. unfold look_up in found.
  destruct (filter (meets same owner owner' agree x) r) as [|y rest] eqn:partners; [discriminate|].
  assert (there : In y (filter (meets same owner owner' agree x) r)) by (rewrite partners; left; auto).
  apply filter_In in there as [there meet]. exists y. split; auto. unfold meets, owns in meet.
  destruct (owner x) as [p|]; [|discriminate]. destruct (owner' y) as [q|]; [|discriminate].
  destruct (same q p) as [->|]; [|discriminate]. split; auto. simpl in found. congruence.
Qed.
End Lookup.

(** ** Each row with each row of the same person *)

Section Pairs.
Context {A B P : Type} (same : forall x y : P, {x = y} + {x <> y}) (owner : A -> option P) (owner' : B -> option P).
Context (agree : A -> B -> bool) (left : bool).  (* a left join: rows without a partner stay, alone *)

Definition pair_up (x : A) (partners : list B) : list (option B) :=
  match partners with [] => if left then [None] else [] | _ => map Some partners end.
Definition pairs : list A -> list B -> list (A * option B) := expand same owner owner' agree pair_up.

Lemma partners_are_of_one_person : forall m x r, (forall q, length (rows_of same owner' q r) <= m) ->
  length (filter (meets same owner owner' agree x) r) <= m.
Proof.
  intros m x r few. destruct (owner x) as [q|] eqn:who.
  - etransitivity; [|apply (few q)]. clear few. unfold rows_of, meets. rewrite who.
    induction r as [|y r IH]; simpl; auto. destruct (owns same owner' q y); simpl; [|auto].
    destruct (agree x y); simpl; lia.
  - replace (filter (meets same owner owner' agree x) r) with (@nil B); [simpl; lia|].
    clear few. induction r as [|y r IH]; simpl; auto. unfold meets at 1. rewrite who. auto.
Qed.

(** At most k rows of each person, each with at most m rows of the same person: at most k·m pairs go out with her. *)
(* op: pairs *)
Theorem pairs_multiply : forall p l r k m, 1 <= m -> length (rows_of same owner p l) <= k ->
  (forall q, length (rows_of same owner' q r) <= m) ->
  Within 0 (k * m) (pairs l r) (pairs (without same owner p l) (without same owner' p r)).
Proof.
  intros p l r k m some few each. apply expand_multiplies; auto. intro x. unfold pair_up.
  pose proof (partners_are_of_one_person m x r each) as most.
  destruct (filter (meets same owner owner' agree x) r) as [|y rest]; [destruct left; simpl; lia|].
  rewrite map_length. auto.
Qed.

(** And nothing else moves, whatever the rows show of both tables. *)
(* op: pairs paired *)
Theorem pairs_are_owned : forall p l r,
  pairs (without same owner p l) (without same owner' p r) = without same (of_first owner) p (pairs l r).
Proof. intros. apply expand_is_owned. Qed.
End Pairs.

(** ** Tables below each other *)

Section Append.
Context {A P : Type} (same : forall x y : P, {x = y} + {x <> y}) (owner : A -> option P).

(* op: append appended *)
Theorem append_is_owned : forall p l r,
  without same owner p l ++ without same owner p r = without same owner p (l ++ r).
Proof. intros. unfold without. rewrite filter_app. auto. Qed.

(** Edits add up. *)
(* op: append *)
Theorem append_adds : forall i d i' d' (l l' r r' : list A),
  Within i d l l' -> Within i' d' r r' -> Within (i + i') (d + d') (l ++ r) (l' ++ r').
Proof.
  intros i d i' d' l l' r r' (ins & del & s & ? & ?) (ins' & del' & s' & ? & ?).
  exists (ins ++ ins'), (del ++ del'). rewrite !app_length. split; [apply script_app; auto | lia].
Qed.
End Append.
