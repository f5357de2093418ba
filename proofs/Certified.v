(** A checker of certificates, with its proof: what `privjail check --certified` runs, extracted to OCaml.

    A plan is what a certificate says of a release: row operations on a data set, and a count or sum of the rows. What a
    filter keeps, how rows are sorted, what their keys and values are stands in an interpretation, about which nothing is
    assumed but that orders are orders, and that values lie in the ranges which the certificate claims for their column.

    [accepts_is_sound] says: if the checker accepts, then for every interpretation and all neighbours the released vector
    moves by no more than the stated sensitivity in L1, that is at most ε times the stated scale (so Laplace noise of
    that scale is ε-differentially private, Laplace.v; without noise the value does not move at all), and every charge is
    at least ε. It says nothing about the cells in which a release is charged. *)

From Coq Require Import List Arith NArith ZArith QArith Qabs Qminmax Lia Lqa Bool.
From PrivJail Require Import Distance Rows Slices Chains Windows Groups.
Import ListNotations.
Open Scope nat_scope.

(** ** Plans and what they mean *)

Inductive row : Type :=
| Held (which : nat)
| Missing
| View (above below : list row).

(** The number is the node of the certificate: it names the condition, order or key. *)
Inductive plan : Type :=
| Source
| Filter (node : nat) (p : plan)
| Sort (node : nat) (p : plan)
| Slice (start stop : option Z) (p : plan)
| Window (before after : Z) (p : plan)
| GroupHead (node : nat) (most : N) (p : plan).

Record interpretation : Type := {
  keeps : nat -> row -> bool;
  order : nat -> row -> row -> bool;
  order_is_total : forall n x y, order n x y = true \/ order n y x = true;
  order_is_transitive : forall n x y z, order n x y = true -> order n y z = true -> order n x z = true;
  key : nat -> row -> option nat;
  value : nat -> row -> Q }.

Definition view (v : list row * list row) : row := View (fst v) (snd v).
Definition or_missing (x : option row) : row := match x with Some y => y | None => Missing end.

(** Each row sees the rows from [before] above it to [after] below it; if one of them is negative, not itself. *)
Definition windowed (before after : Z) (l : list row) : list row :=
  if (after <? 0)%Z then
    map view (windows (Z.to_nat (before + after)) 0 (map or_missing (shifted_down (Z.to_nat (- after)) l)))
  else if (before <? 0)%Z then
    map view (windows 0 (Z.to_nat (before + after)) (map or_missing (shifted_up (Z.to_nat (- before)) l)))
  else map view (windows (Z.to_nat before) (Z.to_nat after) l).

Fixpoint meaning (I : interpretation) (p : plan) (l : list row) : list row :=
  match p with
  | Source => l
  | Filter n q => filter (keeps I n) (meaning I q l)
  | Sort n q => stable_sort (order I n) (meaning I q l)
  | Slice a b q => slice a b (meaning I q l)
  | Window b a q => windowed b a (meaning I q l)
  | GroupHead n k q => group_head Nat.eq_dec (key I n) (N.to_nat k) (meaning I q l)
  end.

(** ** How many rows a plan can have, and how many come and go *)

Definition least (x y : option N) : option N :=
  match x, y with Some a, Some b => Some (N.min a b) | Some a, None => Some a | None, b => b end.

Definition slice_width (start stop : option Z) : option N :=
  match start, stop with
  | Some a, Some b =>
      if (a <? 0)%Z then Some (if (b <? 0)%Z then Z.to_N (b - a) else N.min (Z.to_N (- a)) (Z.to_N b))
      else if (b <? 0)%Z then None else Some (Z.to_N (b - a))
  | Some a, None => if (a <? 0)%Z then Some (Z.to_N (- a)) else None
  | None, Some b => if (b <? 0)%Z then None else Some (Z.to_N b)
  | None, None => None
  end.

Fixpoint most_rows (p : plan) : option N :=
  match p with
  | Source => None
  | Filter _ q | Sort _ q | Window _ _ q | GroupHead _ _ q => most_rows q
  | Slice a b q => least (slice_width a b) (most_rows q)
  end.

(** Insertions and deletions at most, for one privacy unit more. *)
Definition moves := (N * N)%type.

Definition bounded (most : option N) (m : moves) : moves :=
  match most with None => m | Some w => (N.min (fst m) w, N.min (snd m) w) end.

(** One inserted row becomes at most [a] insertions and [b] deletions. *)
Definition stepped (a b : N) (m : moves) : moves := (a * fst m + b * snd m, b * fst m + a * snd m)%N.

Fixpoint moved (unit_rows : N) (p : plan) (outer : list (bound * bound)) : option moves :=
  match p with
  | Slice a b q => moved unit_rows q ((a, b) :: outer)
  | _ =>
      match match p with
            | Source => Some (unit_rows, 0%N)
            | Filter _ q | Sort _ q => moved unit_rows q []
            | Window b a q =>
                if (b + a <? 0)%Z then None
                else option_map (fun m => bounded (most_rows q) (stepped (Z.to_N (b + a + 1)) (Z.to_N (b + a)) m))
                       (moved unit_rows q [])
            | GroupHead _ _ q => option_map (fun m => bounded (most_rows q) (stepped 1 1 m)) (moved unit_rows q [])
            | Slice _ _ _ => None
            end with
      | None => None
      | Some m =>
          match outer with
          | [] => Some m
          | _ => Some (stepped 1 (N.of_nat (leaves (ends_of_chain outer))) m)
          end
      end
  end.

Definition bounds (unit_rows : N) (p : plan) : option moves :=
  option_map (bounded (most_rows p)) (moved unit_rows p []).

Definition Moves (m : moves) (l r : list row) : Prop := Within (N.to_nat (fst m)) (N.to_nat (snd m)) l r.

Lemma slice_width_is_width : forall a b w, slice_width a b = Some w -> width a b = Some (N.to_nat w).
Proof.
  intros [a|] [b|] w known; simpl in *; try discriminate;
  repeat match goal with |- context [(?z <? 0)%Z] => destruct (z <? 0)%Z end; try discriminate;
  injection known as <-; f_equal; lia.
Qed.

Lemma windowed_length : forall b a l, length (windowed b a l) = length l.
Proof.
  intros b a l. unfold windowed.
  assert (down : forall k, length (@shifted_down row k l) = length l)
    by (intros; unfold shifted_down; rewrite firstn_length, app_length, repeat_length, map_length; lia).
  assert (up : forall k, length (@shifted_up row k l) = length l)
    by (intros; unfold shifted_up; rewrite app_length, repeat_length, skipn_length, map_length; lia).
  destruct (a <? 0)%Z; [|destruct (b <? 0)%Z]; unfold windows; rewrite map_length, windows_length, ?map_length; auto.
Qed.

Lemma group_head_shortens : forall (A K : Type) same (key : A -> option K) k l seen,
  length (group_head_from same key k seen l) <= length l.
Proof.
  induction l as [|x l IH]; intros seen; simpl; auto. destruct (key0 x) as [v|].
  - destruct (_ <? _); simpl; specialize (IH (v :: seen)); lia.
  - specialize (IH seen). lia.
Qed.

Lemma most_rows_is_right : forall I p w, most_rows p = Some w -> forall l, length (meaning I p l) <= N.to_nat w.
Proof.
  induction p; simpl; intros w known l; try discriminate; try specialize (IHp w known l).
  - etransitivity; [apply filter_shortens | auto].
  - rewrite <- (Permutation.Permutation_length (sort_permutes (order I node) (meaning I p l))). auto.
  - unfold least in known. destruct (slice_width start stop) as [v|] eqn:mine.
    + apply slice_width_is_width in mine. pose proof (slice_has_its_width _ _ _ _ (meaning I p l) mine) as short.
      destruct (most_rows p) as [u|]; injection known as <-; auto.
      specialize (IHp u eq_refl l). unfold slice in *. rewrite window_length in *. lia.
    + specialize (IHp w known l). unfold slice. rewrite window_length. lia.
  - rewrite windowed_length. auto.
  - etransitivity; [apply group_head_shortens | auto].
Qed.

(** A script with the fewest insertions has the fewest deletions too. *)
Lemma within_both : forall (A : Type) i d i' d' (l r : list A), Within i d l r -> Within i' d' l r ->
  Within (min i i') (min d d') l r.
Proof.
  intros A i d i' d' l r (ins & del & s & ? & ?) (ins' & del' & s' & ? & ?).
  pose proof (script_length _ _ _ _ s). pose proof (script_length _ _ _ _ s').
  destruct (le_lt_dec (length ins) (length ins')); [exists ins, del | exists ins', del']; repeat split; auto; lia.
Qed.

Lemma bounded_is_right : forall I p m l r, Moves m (meaning I p l) (meaning I p r) ->
  Moves (bounded (most_rows p) m) (meaning I p l) (meaning I p r).
Proof.
  intros I p m l r near. unfold bounded. destruct (most_rows p) as [w|] eqn:few; auto.
  unfold Moves in *. simpl. rewrite !N2Nat.inj_min. apply within_both; auto.
  apply small_tables_are_near; apply most_rows_is_right; auto.
Qed.

Lemma windowed_within : forall b a i d l r, (0 <= b + a)%Z -> Within i d l r ->
  let w := Z.to_nat (b + a) in
  Within ((w + 1) * i + w * d) (w * i + (w + 1) * d) (windowed b a l) (windowed b a r).
Proof.
  intros b a i d l r wide near w. unfold windowed. destruct (Z.ltb_spec a 0); [|destruct (Z.ltb_spec b 0)].
  - apply expressions_within. fold w.
    apply (lone_shift_within row (Z.to_nat (- a))) in near. apply (expressions_within _ _ or_missing) in near.
    apply (window_within w 0) in near. eapply within_more; [| | exact near]; nia.
  - apply expressions_within. fold w.
    apply (lone_shift_up_within row (Z.to_nat (- b))) in near. apply (expressions_within _ _ or_missing) in near.
    apply (window_within 0 w) in near. eapply within_more; [| | exact near]; nia.
  - apply expressions_within. apply (window_within (Z.to_nat b) (Z.to_nat a)) in near.
    replace w with (Z.to_nat b + Z.to_nat a) by (subst w; lia). eapply within_more; [| | exact near]; nia.
Qed.

Lemma stepped_is_right : forall a b m (l r l' r' : list row),
  Within (N.to_nat a * N.to_nat (fst m) + N.to_nat b * N.to_nat (snd m))
         (N.to_nat b * N.to_nat (fst m) + N.to_nat a * N.to_nat (snd m)) l' r' ->
  Moves (stepped a b m) l' r'.
Proof. intros. unfold Moves, stepped. simpl. rewrite !N2Nat.inj_add, !N2Nat.inj_mul. auto. Qed.

Theorem moved_is_sound : forall I unit_rows l r, Within (N.to_nat unit_rows) 0 l r ->
  forall p outer m, moved unit_rows p outer = Some m ->
  Moves m (chain outer (meaning I p l)) (chain outer (meaning I p r)).
Proof.
  intros I u l r near.
  assert (outside : forall (f : list row -> list row) outer m m', Moves m (f l) (f r) ->
    (match outer with [] => Some m | _ => Some (stepped 1 (N.of_nat (leaves (ends_of_chain outer))) m) end) = Some m' ->
    Moves m' (chain outer (f l)) (chain outer (f r))).
  { intros f outer m m' here known. destruct outer as [|o outer]; injection known as <-; auto.
    apply (stepped_is_right _ _ m (f l) (f r)). rewrite Nat2N.id. change (N.to_nat 1) with 1. rewrite !Nat.mul_1_l.
    apply chain_of_slices. exact here. }
  induction p; intros outer m known; simpl in known.
  - eapply (outside (meaning I Source)); [|exact known]. exact near.
  - destruct (moved u p []) as [n|] eqn:inner; [|discriminate].
    eapply (outside (meaning I (Filter node p))); [|exact known]. apply filter_within. apply (IHp [] n inner).
  - destruct (moved u p []) as [n|] eqn:inner; [|discriminate].
    eapply (outside (meaning I (Sort node p))); [|exact known]. apply sort_within.
    + apply order_is_total.
    + apply order_is_transitive.
    + apply (IHp [] n inner).
  - apply (IHp ((start, stop) :: outer) m known).
  - destruct (Z.ltb_spec (before + after) 0) as [|wide]; [discriminate|].
    destruct (moved u p []) as [n|] eqn:inner; [|discriminate]. simpl in known.
    eapply (outside (meaning I (Window before after p))); [|exact known].
    change (most_rows p) with (most_rows (Window before after p)). apply bounded_is_right.
    apply (stepped_is_right _ _ n l r). specialize (IHp [] n inner). simpl in IHp.
    apply (windowed_within before after _ _ _ _ wide) in IHp. simpl.
    eapply within_more; [| | exact IHp]; rewrite !Z_N_nat; replace (Z.to_nat (before + after + 1)) with
      (Z.to_nat (before + after) + 1) by lia; lia.
  - destruct (moved u p []) as [n|] eqn:inner; [|discriminate]. simpl in known.
    eapply (outside (meaning I (GroupHead node most p))); [|exact known].
    change (most_rows p) with (most_rows (GroupHead node most p)). apply bounded_is_right.
    apply (stepped_is_right _ _ n l r). specialize (IHp [] n inner). simpl in IHp.
    apply (group_head_by_any_key Nat.eq_dec (key I node) (N.to_nat most)) in IHp. simpl.
    eapply within_more; [| | exact IHp]; change (N.to_nat 1) with 1; lia.
Qed.

(** The distance checker is sound: what it derives bounds the rows that come and go, for every interpretation. *)
Theorem bounds_are_sound : forall I unit_rows p m l r, bounds unit_rows p = Some m ->
  Within (N.to_nat unit_rows) 0 l r -> Moves m (meaning I p l) (meaning I p r).
Proof.
  intros I u p m l r known near. unfold bounds in known. destruct (moved u p []) as [n|] eqn:inner; [|discriminate].
  injection known as <-. apply bounded_is_right. apply (moved_is_sound I u l r near p [] n inner).
Qed.

(** ** Counts and sums *)

(** What one row adds: 1, or a value of the certificate's node that lies in the claimed range. *)
Inductive summand : Type :=
| One
| Between (node : nat) (low high : Q).

(** [keyed]: the node of the keys; one element for each of the possible keys. None: one number. *)
Record release : Type := {
  unit_rows : N;
  rows : plan;
  keyed : option nat;
  adds : summand;
  factor : Q;              (* the value is multiplied by this in the end *)
  sensitivity : Q;
  scale : Q;
  epsilon : Q;
  charged : list Q }.

Definition add_of (I : interpretation) (s : summand) (x : row) : Q :=
  match s with One => 1%Q | Between n _ _ => value I n x end.

Definition low_of (s : summand) : Q := match s with One => 1%Q | Between _ low _ => low end.
Definition high_of (s : summand) : Q := match s with One => 1%Q | Between _ _ high => high end.

(** The values lie where the certificate says that their column lies. *)
Definition Honest (I : interpretation) (s : summand) : Prop :=
  forall x, (low_of s <= add_of I s x <= high_of s)%Q.

Open Scope Q_scope.

Fixpoint sum_of (f : row -> Q) (l : list row) : Q := match l with [] => 0 | x :: l' => f x + sum_of f l' end.

Definition group_of (I : interpretation) (n : nat) (k : nat) (x : row) : bool :=
  match key I n x with Some v => Nat.eqb v k | None => false end.

(** The released vector, without its noise; [keys] are the possible keys. *)
Definition vector (I : interpretation) (c : release) (keys : list nat) (l : list row) : list Q :=
  let t := meaning I (rows c) l in
  let f x := factor c * add_of I (adds c) x in
  match keyed c with
  | None => [sum_of f t]
  | Some n => map (fun k => sum_of f (filter (group_of I n k) t)) keys
  end.

Fixpoint l1 (x y : list Q) : Q :=
  match x, y with a :: x', b :: y' => Qabs (a - b) + l1 x' y' | _, _ => 0 end.

Definition nq (n : N) : Q := inject_Z (Z.of_N n).

(** The largest L1 change: for groups every edit counts; for one number what comes in less what goes out. *)
Definition largest_change (c : release) (m : moves) : Q :=
  let low := low_of (adds c) in let high := high_of (adds c) in
  let up := Qmax high 0 in let down := Qmax (- low) 0 in
  let i := nq (fst m) in let d := nq (snd m) in
  let either := Qmax up down * (i + d) in
  Qabs (factor c) *
  match keyed c with
  | None => Qmin (Qmax (up * i + down * d) (down * i + up * d)) either
  | Some _ => either
  end.

Definition accepts (c : release) : bool :=
  match bounds (unit_rows c) (rows c) with
  | None => false
  | Some m =>
      Qle_bool (largest_change c m) (sensitivity c) &&
      Qle_bool (sensitivity c) (scale c * epsilon c) &&
      Qle_bool 0 (scale c) &&
      negb (match charged c with [] => true | _ => false end) &&
      forallb (Qle_bool (epsilon c)) (charged c)
  end.

Lemma sum_moves : forall f ins del l r, Script ins del l r -> sum_of f r - sum_of f l == sum_of f ins - sum_of f del.
Proof. induction 1; simpl; try lra. Qed.

Definition size (l : list row) : Q := inject_Z (Z.of_nat (length l)).

Lemma size_cons : forall x l, size (x :: l) == 1 + size l.
Proof.
  intros. unfold size. simpl length. rewrite Nat2Z.inj_succ. unfold Z.succ. rewrite inject_Z_plus.
  change (inject_Z 1) with 1. ring.
Qed.

Lemma size_not_negative : forall l, 0 <= size l.
Proof. intros. unfold size. change 0 with (inject_Z 0). rewrite <- Zle_Qle. lia. Qed.

Lemma size_at_most : forall n (l : list row), (length l <= N.to_nat n)%nat -> size l <= nq n.
Proof. intros. unfold size, nq. rewrite <- Zle_Qle. lia. Qed.

(** A sum over rows each of which adds between -[down] and [up]. *)
Lemma sum_between : forall f up down l, (forall x, - down <= f x <= up) -> 0 <= up -> 0 <= down ->
  - (down * size l) <= sum_of f l <= up * size l.
Proof.
  intros f up down l bound ? ?. induction l as [|x l IH].
  - simpl. unfold size. simpl. change (inject_Z 0) with 0. lra.
  - rewrite size_cons. simpl. specialize (bound x).
    setoid_replace (down * (1 + size l)) with (down + down * size l) by ring.
    setoid_replace (up * (1 + size l)) with (up + up * size l) by ring. lra.
Qed.

Lemma larger_factor : forall a x y, 0 <= a -> x <= y -> a * x <= a * y.
Proof. intros. rewrite !(Qmult_comm a). apply Qmult_le_compat_r; auto. Qed.

Lemma one_number : forall f up down m l r, (forall x, - down <= f x <= up) -> 0 <= up -> 0 <= down -> Moves m l r ->
  Qabs (sum_of f r - sum_of f l) <=
    Qmax (up * nq (fst m) + down * nq (snd m)) (down * nq (fst m) + up * nq (snd m)).
Proof.
  intros f up down m l r bound pos pos' (ins & del & s & few & few').
  rewrite (sum_moves f _ _ _ _ s).
  pose proof (sum_between f up down ins bound pos pos'). pose proof (sum_between f up down del bound pos pos').
  pose proof (larger_factor up _ _ pos (size_at_most _ _ few)). pose proof (larger_factor down _ _ pos' (size_at_most _ _ few)).
  pose proof (larger_factor up _ _ pos (size_at_most _ _ few')).
  pose proof (larger_factor down _ _ pos' (size_at_most _ _ few')).
  apply Qabs_Qle_condition.
  pose proof (Q.le_max_l (up * nq (fst m) + down * nq (snd m)) (down * nq (fst m) + up * nq (snd m))).
  pose proof (Q.le_max_r (up * nq (fst m) + down * nq (snd m)) (down * nq (fst m) + up * nq (snd m))). lra.
Qed.

(** The sum of the sizes of different groups is at most the number of rows. *)
Lemma groups_fit : forall (g : nat -> row -> bool) keys l, NoDup keys ->
  (forall x k k', g k x = true -> g k' x = true -> k = k') ->
  fold_right Qplus 0 (map (fun k => size (filter (g k) l)) keys) <= size l.
Proof.
  intros g keys l distinct one. induction l as [|x l IH].
  - simpl. assert (fold_right Qplus 0 (map (fun _ : nat => size []) keys) == 0) as ->
      by (clear; induction keys as [|k keys IH]; simpl; [|rewrite IH; unfold size; simpl]; reflexivity).
    unfold size. simpl. apply Qle_refl.
  - rewrite size_cons. simpl filter.
    assert (step : fold_right Qplus 0 (map (fun k => size (if g k x then x :: filter (g k) l else filter (g k) l)) keys) <=
      (if existsb (fun k => g k x) keys then 1 else 0) + fold_right Qplus 0 (map (fun k => size (filter (g k) l)) keys)).
    { clear IH. induction keys as [|k keys IH]; [simpl; apply Qle_refl|]. inversion distinct as [|? ? fresh rest]; subst.
      specialize (IH rest). simpl. destruct (g k x) eqn:here; simpl.
      - rewrite size_cons. destruct (existsb (fun k => g k x) keys) eqn:there.
        + apply existsb_exists in there. destruct there as (k' & inside & again).
          exfalso. apply fresh. rewrite (one x k k' here again). exact inside.
        + lra.
      - lra. }
    destruct (existsb (fun k => g k x) keys); lra.
Qed.

Lemma groups_move : forall f most g keys ins del l r, (forall x, Qabs (f x) <= most) -> 0 <= most -> Script ins del l r ->
  l1 (map (fun k => sum_of f (filter (g k) r)) keys) (map (fun k => sum_of f (filter (g k) l)) keys) <=
    most * (fold_right Qplus 0 (map (fun k => size (filter (g k) ins)) keys) +
            fold_right Qplus 0 (map (fun k : nat => size (filter (g k) del)) keys)).
Proof.
  intros f most g keys ins del l r bound pos s. induction keys as [|k keys IH]; simpl; [lra|].
  assert (both : forall x, - most <= f x <= most) by (intros x; apply Qabs_Qle_condition; auto).
  pose proof (sum_between f most most (filter (g k) ins) both pos pos).
  pose proof (sum_between f most most (filter (g k) del) both pos pos).
  apply (filter_keeps_the_distance row (g k)) in s. apply (sum_moves f) in s.
  assert (Qabs (sum_of f (filter (g k) r) - sum_of f (filter (g k) l)) <=
    most * size (filter (g k) ins) + most * size (filter (g k) del)) by (apply Qabs_Qle_condition; lra).
  revert IH. generalize (fold_right Qplus 0 (map (fun k : nat => size (filter (g k) ins)) keys)) as x.
  generalize (fold_right Qplus 0 (map (fun k : nat => size (filter (g k) del)) keys)) as y. intros y x IH.
  eapply Qle_trans; [apply Qplus_le_compat; [eassumption | exact IH]|].
  apply Qle_lteq. right. ring.
Qed.

Lemma scaled_sum : forall c f l, sum_of (fun x => c * f x) l == c * sum_of f l.
Proof. induction l as [|x l IH]; simpl; [ring|]. rewrite IH. ring. Qed.

(** If the checker accepts a certificate, then for all neighbours and whatever the data mean: the vector moves by no more
    than the stated sensitivity; in units of the scale that is at most ε; and every charge is at least ε. *)
Theorem accepts_is_sound : forall c, accepts c = true ->
  (forall I keys l r, Honest I (adds c) -> NoDup keys -> Within (N.to_nat (unit_rows c)) 0 l r ->
    l1 (vector I c keys r) (vector I c keys l) <= sensitivity c) /\
  sensitivity c <= scale c * epsilon c /\ 0 <= scale c /\ charged c <> [] /\ Forall (fun x => epsilon c <= x) (charged c).
Proof.
  intros c yes. unfold accepts in yes. destruct (bounds (unit_rows c) (rows c)) as [m|] eqn:known; [|discriminate].
  rewrite !andb_true_iff, !negb_true_iff, !Qle_bool_iff in yes. destruct yes as ((((change & enough) & positive) & some) & paid).
  repeat split; auto.
  - intros I keys l r honest distinct near. eapply Qle_trans; [|exact change].
    pose proof (bounds_are_sound I _ _ _ l r known near) as moves. unfold largest_change, vector.
    set (up := Qmax (high_of (adds c)) 0) in *. set (down := Qmax (- low_of (adds c)) 0) in *.
    assert (ups : 0 <= up /\ high_of (adds c) <= up) by (split; [apply Q.le_max_r | apply Q.le_max_l]).
    assert (downs : 0 <= down /\ - low_of (adds c) <= down) by (split; [apply Q.le_max_r | apply Q.le_max_l]).
    assert (range : forall x, - down <= add_of I (adds c) x <= up) by (intros x; specialize (honest x); lra).
    assert (most : forall x, Qabs (add_of I (adds c) x) <= Qmax up down).
    { intros x. apply Qabs_Qle_condition. specialize (range x).
      pose proof (Q.le_max_l up down). pose proof (Q.le_max_r up down). lra. }
    assert (pos : 0 <= Qmax up down) by (pose proof (Q.le_max_l up down); lra).
    set (t := meaning I (rows c) l) in *. set (t' := meaning I (rows c) r) in *.
    assert (edits : forall ins del, (length ins <= N.to_nat (fst m))%nat -> (length del <= N.to_nat (snd m))%nat ->
      Qmax up down * (size ins + size del) <= Qmax up down * (nq (fst m) + nq (snd m))).
    { intros ins del few few'. apply larger_factor; auto.
      pose proof (size_at_most _ _ few). pose proof (size_at_most _ _ few'). lra. }
    destruct (keyed c) as [n|].
    + destruct moves as (ins & del & s & few & few').
      eapply Qle_trans; [|apply larger_factor; [apply Qabs_nonneg | apply (edits ins del few few')]].
      eapply Qle_trans; [apply (groups_move _ (Qabs (factor c) * Qmax up down) (group_of I n) keys ins del t t')|]; auto.
      * intros x. rewrite Qabs_Qmult. apply larger_factor; auto. apply Qabs_nonneg.
      * apply Qmult_le_0_compat; auto. apply Qabs_nonneg.
      * rewrite Qmult_assoc. apply larger_factor.
        { apply Qmult_le_0_compat; auto. apply Qabs_nonneg. }
        assert (alone : forall x k k', group_of I n k x = true -> group_of I n k' x = true -> k = k').
        { intros x k k'. unfold group_of. destruct (key I n x); [|discriminate]. rewrite !Nat.eqb_eq. congruence. }
        pose proof (groups_fit (group_of I n) keys ins distinct alone).
        pose proof (groups_fit (group_of I n) keys del distinct alone). lra.
    + cbn [l1].
      assert (alike : sum_of (fun x => factor c * add_of I (adds c) x) t' - sum_of (fun x => factor c * add_of I (adds c) x) t
        == factor c * (sum_of (add_of I (adds c)) t' - sum_of (add_of I (adds c)) t))
        by (rewrite (scaled_sum (factor c) _ t), (scaled_sum (factor c) _ t'); ring).
      rewrite alike, Qplus_0_r.
      rewrite Qabs_Qmult. apply larger_factor; [apply Qabs_nonneg|]. apply Q.min_glb.
      * apply one_number; try (apply ups || apply downs); auto.
      * destruct moves as (ins & del & s & few & few'). rewrite (sum_moves _ _ _ _ _ s).
        eapply Qle_trans; [|apply (edits ins del few few')].
        assert (both : forall x, - Qmax up down <= add_of I (adds c) x <= Qmax up down)
          by (intros x; apply Qabs_Qle_condition; auto).
        pose proof (sum_between _ _ _ ins both pos pos). pose proof (sum_between _ _ _ del both pos pos).
        apply Qabs_Qle_condition. setoid_replace (Qmax up down * (size ins + size del))
          with (Qmax up down * size ins + Qmax up down * size del) by ring. lra.
  - destruct (charged c); [discriminate | intros none; discriminate].
  - apply Forall_forall. intros x inside. rewrite forallb_forall in paid. apply Qle_bool_iff. auto.
Qed.

(** ** It accepts what is right and rejects what is too small: the first ten rows of a filter, ages up to 120 *)

Definition ages (sens charge : Q) : release := {|
  unit_rows := 1; rows := Slice None (Some 10%Z) (Filter 3 Source); keyed := None; adds := Between 6 0 120;
  factor := 1; sensitivity := sens; scale := 240; epsilon := 1 # 2; charged := [charge] |}.

Example enough_is_accepted : accepts (ages 120 (1 # 2)) = true.
Proof. reflexivity. Qed.
Example too_small_a_sensitivity_is_rejected : accepts (ages 119 (1 # 2)) = false.
Proof. reflexivity. Qed.
Example too_small_a_charge_is_rejected : accepts (ages 120 (1 # 3)) = false.
Proof. reflexivity. Qed.
