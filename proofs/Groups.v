(** Operations on groups of rows, and tables in which a person owns several rows
    (src/privjail/ops/rows/source.py, ops/rows/group_head.py; per-person aggregation and joins). *)

From Coq Require Import List Arith Lia Bool.
From PrivJail Require Import Distance Rows.
Import ListNotations.

Lemma leaving_out : forall (A : Type) (p : A -> bool) l,
  Script [] (filter p l) l (filter (fun x => negb (p x)) l).
Proof. induction l as [|x l IH]; simpl; [constructor|]. destruct (p x); simpl; constructor; auto. Qed.

(** ** The data set itself *)

Section Persons.
Context {A P : Type} (same : forall x y : P, {x = y} + {x <> y}) (owner : A -> option P).

Definition owns (p : P) (row : A) : bool :=
  match owner row with Some q => if same q p then true else false | None => false end.
Definition rows_of (p : P) (l : list A) : list A := filter (owns p) l.

(** The neighbour of a table: without all rows of one person. *)
Definition without (p : P) (l : list A) : list A := filter (fun row => negb (owns p row)) l.

(* op: source *)
Theorem source_one_row : forall (front : list A) x back, Within 1 0 (front ++ back) (front ++ x :: back).
Proof. apply within_one_inserted. Qed.

(* op: source *)
Theorem source_one_person : forall p l most, length (rows_of p l) <= most -> Within 0 most l (without p l).
Proof. intros p l most few. exists [], (rows_of p l). repeat split; simpl; auto with arith. apply leaving_out. Qed.
End Persons.

(** Rows of a data set that were only filtered and sorted. *)
Inductive step (A : Type) : Type :=
| Keep : (A -> bool) -> step A
| SortBy : forall le : A -> A -> bool,
    (forall x y, le x y = true \/ le y x = true) ->
    (forall x y z, le x y = true -> le y z = true -> le x z = true) -> step A.
Arguments Keep {A}. Arguments SortBy {A}.

Definition select {A : Type} (steps : list (step A)) (l : list A) : list A :=
  fold_left (fun rows s => match s with Keep p => filter p rows | SortBy le _ _ => stable_sort le rows end) steps l.

Lemma select_filter : forall (A : Type) (p : A -> bool) steps l,
  select steps (filter p l) = filter p (select steps l).
Proof.
  induction steps as [|s steps IH]; intros l; auto. simpl. destruct s as [q | le total transitive].
  - rewrite (filter_swap A q p). apply IH.
  - rewrite <- filter_sort by auto. apply IH.
Qed.

(** ** groupby(key).head(k) *)

Section GroupHead.
Context {A K : Type} (same : forall x y : K, {x = y} + {x <> y}) (key : A -> option K) (k : nat).

(** [seen]: the keys of the rows so far. A row is kept if fewer than [k] rows before it have its key. *)
Fixpoint group_head_from (seen : list K) (l : list A) : list A :=
  match l with
  | [] => []
  | x :: l' =>
      match key x with
      | None => group_head_from seen l'
      | Some v => if count_occ same seen v <? k then x :: group_head_from (v :: seen) l'
                  else group_head_from (v :: seen) l'
      end
  end.

Definition group_head (l : list A) : list A := group_head_from [] l.

Lemma only_small_counts_matter : forall l seen seen',
  (forall v, min k (count_occ same seen v) = min k (count_occ same seen' v)) ->
  group_head_from seen l = group_head_from seen' l.
Proof.
  induction l as [|x l IH]; intros seen seen' alike; simpl; auto. destruct (key x) as [v|]; auto.
  assert (next : group_head_from (v :: seen) l = group_head_from (v :: seen') l).
  { apply IH. intros w. specialize (alike w). simpl. destruct (same v w); lia. }
  rewrite next. specialize (alike v).
  destruct (Nat.ltb_spec (count_occ same seen v) k), (Nat.ltb_spec (count_occ same seen' v) k); auto; lia.
Qed.

Lemma one_more_seen : forall l v seen seen', count_occ same seen' v = S (count_occ same seen v) ->
  (forall w, w <> v -> count_occ same seen' w = count_occ same seen w) ->
  Within 0 1 (group_head_from seen l) (group_head_from seen' l).
Proof.
  induction l as [|x l IH]; intros v seen seen' more others; simpl.
  - apply (within_more 0 0); auto. apply within_same.
  - destruct (key x) as [w|]; [|eapply IH; eauto].
    assert (next : Within 0 1 (group_head_from (w :: seen) l) (group_head_from (w :: seen') l)).
    { apply (IH v); simpl.
      - destruct (same w v); lia.
      - intros u differs. rewrite others by auto. destruct (same w u); auto. }
    destruct (same w v) as [->|differs].
    + destruct (Nat.ltb_spec (count_occ same seen v) k), (Nat.ltb_spec (count_occ same seen' v) k); try lia; auto.
      * apply within_keep; auto.
      * apply within_delete. rewrite (only_small_counts_matter l (v :: seen) (v :: seen')); [apply within_same|].
        intros u. simpl. destruct (same v u) as [<-|]; [lia|]. rewrite others by auto. reflexivity.
    + rewrite others by auto. destruct (count_occ same seen w <? k); auto. apply within_keep; auto.
Qed.

Lemma one_row_into_a_group : forall front seen x back,
  Within 1 1 (group_head_from seen (front ++ back)) (group_head_from seen (front ++ x :: back)).
Proof.
  induction front as [|y front IH]; intros seen x back; simpl.
  - assert (equal : Within 1 1 (group_head_from seen back) (group_head_from seen back))
      by (apply (within_more 0 0); auto; apply within_same).
    destruct (key x) as [v|]; auto.
    assert (next : Within 0 1 (group_head_from seen back) (group_head_from (v :: seen) back)).
    { apply (one_more_seen back v); simpl; [destruct (same v v); congruence|].
      intros w differs. destruct (same v w); congruence. }
    destruct (count_occ same seen v <? k).
    + apply within_insert; auto.
    + eapply within_more; [| | exact next]; lia.
  - destruct (key y); auto. destruct (count_occ same seen k0 <? k); auto. apply within_keep; auto.
Qed.

(** By any key: a row that comes into a group pushes at most one other row out of it. *)
(* op: group_head *)
Theorem group_head_by_any_key : forall i d l r, Within i d l r -> Within (i + d) (i + d) (group_head l) (group_head r).
Proof.
  intros i d l r near. rewrite <- (Nat.mul_1_l i), <- (Nat.mul_1_l d).
  apply (one_edit_is_enough A A group_head 1 1); auto. intros; apply one_row_into_a_group.
Qed.

(* op: group_head *)
Corollary group_head_by_any_key_distance : forall n l r, Apart n l r -> Apart (2 * n) (group_head l) (group_head r).
Proof.
  intros n l r (ins & del & s & few).
  destruct (group_head_by_any_key (length ins) (length del) l r) as (ins' & del' & s' & ? & ?);
    [exists ins, del; auto|]. exists ins', del'. split; auto; lia.
Qed.

(** By the column that says whose row it is: rows of other persons stay as they are. *)
Lemma others_stay : forall p l seen seen', (forall q, q <> p -> count_occ same seen' q = count_occ same seen q) ->
  group_head_from seen' (without same key p l) = without same key p (group_head_from seen l).
Proof.
  unfold without. induction l as [|x l IH]; intros seen seen' alike; simpl; auto.
  unfold owns at 1. destruct (key x) as [v|] eqn:has; simpl; rewrite ?has; auto.
  destruct (same v p) as [->|differs]; simpl.
  - replace (filter (fun row => negb (owns same key p row))
      (if count_occ same seen p <? k then x :: group_head_from (p :: seen) l else group_head_from (p :: seen) l))
      with (filter (fun row => negb (owns same key p row)) (group_head_from (p :: seen) l)).
    + apply IH. intros q other. simpl. destruct (same p q); [congruence | auto].
    + destruct (count_occ same seen p <? k); auto. simpl. unfold owns at 2. rewrite has.
      destruct (same p p); auto; congruence.
  - rewrite has, alike by auto.
    assert (next : group_head_from (v :: seen') (filter (fun row => negb (owns same key p row)) l) =
                   filter (fun row => negb (owns same key p row)) (group_head_from (v :: seen) l)).
    { apply IH. intros q other. simpl. rewrite alike by auto. auto. }
    rewrite next. destruct (count_occ same seen v <? k); auto. simpl. unfold owns at 2. rewrite has.
    destruct (same v p); [congruence | auto].
Qed.

Lemma at_most_k_rows : forall p l seen,
  length (rows_of same key p (group_head_from seen l)) + min k (count_occ same seen p) <= k /\
  length (rows_of same key p (group_head_from seen l)) <= length (rows_of same key p l).
Proof.
  unfold rows_of. induction l as [|x l IH]; intros seen; simpl; [lia|].
  assert (own : owns same key p x = match key x with Some q => if same q p then true else false | None => false end)
    by reflexivity.
  destruct (key x) as [v|] eqn:has; rewrite own; [|apply IH].
  specialize (IH (v :: seen)). simpl in IH.
  destruct (Nat.ltb_spec (count_occ same seen v) k); simpl; rewrite ?own; destruct (same v p) as [->|]; simpl; lia.
Qed.

(* op: group_head *)
Theorem group_head_by_owner : forall p steps l,
  Within 0 (min k (length (rows_of same key p (select steps l))))
    (group_head (select steps l)) (group_head (select steps (without same key p l))).
Proof.
  intros p steps l. unfold without. rewrite select_filter. fold (without same key p (select steps l)).
  unfold group_head. rewrite (others_stay p _ [] []) by auto.
  apply source_one_person. destruct (at_most_k_rows p (select steps l) []). simpl in *. lia.
Qed.
End GroupHead.

Example by_any_key_2_is_reached : edits Nat.eq_dec
  (group_head Nat.eq_dec (fun _ => Some 0) 1 [1]) (group_head Nat.eq_dec (fun _ => Some 0) 1 [2; 1]) = 2.
Proof. reflexivity. Qed.
Example by_owner_k_is_reached : edits Nat.eq_dec
  (group_head Nat.eq_dec Some 2 [7; 7; 7]) (group_head Nat.eq_dec Some 2 (without Nat.eq_dec Some 7 [7; 7; 7])) = 2.
Proof. reflexivity. Qed.

(** ** groupby(person).agg(…): one row for each person, in order of first appearance *)

Section Aggregate.
Context {A P B : Type} (same : forall x y : P, {x = y} + {x <> y}) (owner : A -> option P) (agg : P -> list A -> B).

Definition other (p q : P) : bool := if same q p then false else true.

Fixpoint persons (l : list A) : list P :=
  match l with
  | [] => []
  | x :: l' => match owner x with None => persons l' | Some p => p :: filter (other p) (persons l') end
  end.

Definition aggregate (l : list A) : list (P * B) := map (fun p => (p, agg p (rows_of same owner p l))) (persons l).

Lemma filter_twice : forall (p : P -> bool) l, filter p (filter p l) = filter p l.
Proof. induction l as [|x l IH]; simpl; auto. destruct (p x) eqn:e; simpl; rewrite ?e; auto. f_equal; auto. Qed.

Lemma other_same : forall p, other p p = false.
Proof. intros; unfold other. destruct (same p p); congruence. Qed.

Lemma other_differs : forall p q, q <> p -> other p q = true.
Proof. intros; unfold other. destruct (same q p); congruence. Qed.

Lemma persons_without : forall p l, persons (without same owner p l) = filter (other p) (persons l).
Proof.
  unfold without. induction l as [|x l IH]; simpl; auto. unfold owns at 1.
  destruct (owner x) as [q|] eqn:has; simpl; rewrite ?has; auto.
  destruct (same q p) as [->|differs]; simpl; rewrite ?has, IH.
  - rewrite other_same. symmetry. apply filter_twice.
  - rewrite other_differs by auto. f_equal. apply filter_swap.
Qed.

Lemma each_person_once : forall p l, length (filter (fun q => negb (other p q)) (persons l)) <= 1.
Proof.
  induction l as [|x l IH]; simpl; auto. destruct (owner x) as [q|]; auto. simpl.
  destruct (same q p) as [->|]; simpl; [rewrite other_same | rewrite other_differs by auto]; simpl.
  - replace (filter (fun q => negb (other p q)) (filter (other p) (persons l))) with (@nil P); [simpl; auto|].
    clear. induction (persons l) as [|q qs IH]; simpl; auto. destruct (other p q) eqn:e; simpl; rewrite ?e; auto.
  - rewrite filter_swap. etransitivity; [apply filter_shortens | exact IH].
Qed.

Lemma rows_of_another : forall p q l, q <> p -> rows_of same owner q (without same owner p l) = rows_of same owner q l.
Proof.
  unfold rows_of, without. induction l as [|x l IH]; simpl; intros differs; auto.
  assert (own : forall u, owns same owner u x =
    match owner x with Some v => if same v u then true else false | None => false end) by reflexivity.
  destruct (owner x) as [v|]; rewrite !own; simpl; rewrite ?own; auto.
  destruct (same v p) as [->|]; simpl; rewrite ?own.
  - destruct (same p q); [congruence | auto].
  - destruct (same v q); rewrite IH; auto.
Qed.

(** One person is one row, whatever her number of rows. *)
(* op: per_person aggregate *)
Theorem per_person_aggregation : forall p l, Within 0 1 (aggregate l) (aggregate (without same owner p l)).
Proof.
  intros p l. unfold aggregate. rewrite persons_without.
  replace (map (fun q => (q, agg q (rows_of same owner q (without same owner p l)))) (filter (other p) (persons l)))
    with (map (fun q => (q, agg q (rows_of same owner q l))) (filter (other p) (persons l))).
  - apply expressions_within. exists [], (filter (fun q => negb (other p q)) (persons l)).
    repeat split; simpl; auto using each_person_once.
    pose proof (leaving_out P (fun q => negb (other p q)) (persons l)) as s.
    erewrite (filter_ext (fun q => negb (negb (other p q)))) in s; [exact s|]. intros; apply negb_involutive.
  - apply map_ext_in. intros q there. apply filter_In in there as [_ there]. unfold other in there.
    destruct (same q p); [discriminate|]. rewrite rows_of_another; auto.
Qed.
End Aggregate.

(** ** merge on the person: both tables lose one person's rows at once *)

Section Join.
Context {A B P : Type} (same : forall x y : P, {x = y} + {x <> y}) (owner : A -> option P) (owner' : B -> option P).

Definition matching (x : A) (y : B) : bool :=
  match owner x with None => false | Some p => owns same owner' p y end.

Definition join (l : list A) (r : list B) : list (A * B) :=
  flat_map (fun x => map (pair x) (filter (matching x) r)) l.

Definition of_either (row : A * B) : option P := owner (fst row).

Lemma filter_pairs : forall (q : A * B -> bool) (b : bool) x m, (forall y, q (x, y) = b) ->
  filter q (map (pair x) m) = if b then map (pair x) m else [].
Proof.
  intros q b x m all. induction m as [|y m IH]; simpl; [destruct b; auto|]. rewrite all, IH. destruct b; auto.
Qed.

Lemma no_partner : forall x r, owner x = None -> filter (matching x) r = [].
Proof.
  intros x r has. induction r as [|y r IH]; simpl; auto. unfold matching at 1. rewrite has. exact IH.
Qed.

Lemma join_without : forall p l r,
  join (without same owner p l) (without same owner' p r) = without same of_either p (join l r).
Proof.
  intros p l r. unfold without, join. induction l as [|x l IH]; simpl; auto.
  rewrite filter_app, <- IH. clear IH.
  rewrite (filter_pairs _ (negb (owns same owner p x))) by reflexivity.
  destruct (owns same owner p x) eqn:own; simpl; auto. f_equal. f_equal.
  destruct (owner x) as [q|] eqn:has; [|rewrite !no_partner; auto].
  rewrite filter_swap. unfold owns in own. rewrite has in own. destruct (same q p) as [|differs]; [discriminate|].
  induction r as [|y r IH]; simpl; auto. destruct (matching x y) eqn:meets; auto. simpl. rewrite IH.
  unfold matching in meets. rewrite has in meets. unfold owns in *. destruct (owner' y) as [v|]; [|discriminate].
  destruct (same v q) as [->|]; [|discriminate]. destruct (same q p); [congruence | auto].
Qed.

Lemma rows_of_a_join : forall p l r,
  length (rows_of same of_either p (join l r)) = length (rows_of same owner p l) * length (rows_of same owner' p r).
Proof.
  intros p l r. unfold rows_of, join. induction l as [|x l IH]; simpl; auto.
  rewrite filter_app, app_length, IH. rewrite (filter_pairs _ (owns same owner p x)) by reflexivity.
  destruct (owns same owner p x) eqn:own; simpl; auto. f_equal. rewrite map_length. f_equal. apply filter_ext.
  intros y. unfold matching. unfold owns in own. destruct (owner x) as [q|]; [|discriminate].
  destruct (same q p) as [->|]; [auto | discriminate].
Qed.

(** The product of the bounds; with one row for each person on the right (many-to-one) the bound of the left. *)
Theorem join_on_the_person : forall p l r left right,
  length (rows_of same owner p l) <= left -> length (rows_of same owner' p r) <= right ->
  Within 0 (left * right) (join l r) (join (without same owner p l) (without same owner' p r)).
Proof.
  intros p l r left right few few'. rewrite join_without. apply source_one_person. rewrite rows_of_a_join.
  apply Nat.mul_le_mono; auto.
Qed.

Corollary many_to_one_join_on_the_person : forall p l r left,
  length (rows_of same owner p l) <= left -> length (rows_of same owner' p r) <= 1 ->
  Within 0 left (join l r) (join (without same owner p l) (without same owner' p r)).
Proof. intros. rewrite <- (Nat.mul_1_r left). apply join_on_the_person; auto. Qed.
End Join.
