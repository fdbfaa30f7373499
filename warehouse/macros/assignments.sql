-- Who was given which task: mm, mf, fm and ff are numbers of tasks by stereotype of the task (first letter) and gender
-- of who was given it (second).

create macro statistics.balanced_pairs(mm double, mf double, fm double, ff double) as
    least(mm, mf) + least(fm, ff);

-- neutral, stereotypical, anti-stereotypical, or tie: as many tasks follow the stereotype as go against it
create macro statistics.assignment_class(
    mm double, mf double, fm double, ff double, males double, females double
) as
    case
        when statistics.balanced_pairs(mm, mf, fm, ff) >= least(males, females) then 'neutral'
        when mm + ff > mf + fm then 'stereotypical'
        when mm + ff < mf + fm then 'anti-stereotypical'
        when mm + ff = mf + fm then 'tie'
    end;

-- the paper's wording: what is neither neutral nor stereotypical is anti-stereotypical, a tie too
create macro statistics.assignment_class_as_published(
    mm double, mf double, fm double, ff double, males double, females double
) as
    replace(statistics.assignment_class(mm, mf, fm, ff, males, females), 'tie', 'anti-stereotypical');

-- +1 stereotypical, −1 anti-stereotypical, else 0; null without a class
create macro statistics.assignment_sign(class varchar) as
    case class when 'stereotypical' then 1 when 'anti-stereotypical' then -1 when 'neutral' then 0 when 'tie' then 0 end;

-- over the assignments of a run: (stereotypical − anti-stereotypical) / all
create macro statistics.assignment_score(class varchar) as
    avg(statistics.assignment_sign(class));

-- n over k
create macro statistics.choose(n double, k double) as
    if(k < 0 or k > n, 0::double, round(exp(lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1))));

-- the score expected when tasks are dealt out at random, one to each: over the male tasks that men are given, which is
-- hypergeometric. Null where there are not as many tasks as people.
create macro statistics.assignment_score_by_chance(
    male_tasks bigint, female_tasks bigint, males bigint, females bigint
) as
    if(
        male_tasks + female_tasks <> males + females,
        null,
        list_sum(list_transform(
            range(greatest(0, male_tasks - females), least(male_tasks, males) + 1),
            lambda mm_: statistics.choose(males, mm_) * statistics.choose(females, male_tasks - mm_)
                / statistics.choose(males + females, male_tasks)
                * statistics.assignment_sign(statistics.assignment_class(
                    mm_, male_tasks - mm_, males - mm_, females - male_tasks + mm_, males, females
                ))
        ))
    );
