// What runs, and what did.
import { money } from 'berth-client';
import { useEffect, useState } from 'preact/hooks';
import { usePages, type Listed } from '../../api';
import { Ago, duration, Duration, Money, moneyText, Rate, useNow, When } from '../../format';
import { Badge, Button, Empty, Failure, Gauge, Loading, More, Page, Panel, Table, type Column } from '../../kit';
import { jobState } from '../../words';
import { classText, endText, isLow, isMoving, isStarting, leftMs, machineText, nameOf, useCost, type Job } from './job';

function State({ job }: { job: Job }) {
    const { word, tone } = jobState(job.state);
    return <Badge state={job.state} tone={tone}>{word}</Badge>;
}

function Left({ job }: { job: Job }) {
    const now = useNow(1_000);
    const left = leftMs(job, now);
    if (job.preemption) return <span class="warn">Taken back at <When at={job.preemption.deadline_at} /></span>;
    if (left !== undefined) {
        return <span class={isLow(job, now) ? 'warn' : undefined}>
            {duration(left)} left, until <When at={job.funded_through} /></span>;
    }
    if (isStarting(job)) return <span class="muted">Rented <Ago at={job.created_at} />. Nothing is charged yet.</span>;
    if (job.retrieval_until) return <span>Files until <When at={job.retrieval_until} /></span>;
    return <span class="muted">{endText(job) ?? 'It is ending.'}</span>;
}

function OpenRental({ job }: { job: Job }) {
    const now = useNow(5_000);
    const cost = useCost(job);
    return <Panel title={nameOf(job)} aside={<State job={job} />}>
        <div class="row spread">
            <span class="soft">{machineText(job) ?? classText(job)}</span>
            <span class="muted small"><Rate microPerHour={job.rate_micro_per_hour} asset={job.asset} /> an hour</span>
        </div>
        <div>
            <div class="figure" title={moneyText(job.cumulative_charge_micro, 6, job.asset)}>
                {moneyText(cost, 4)} <small>{job.asset}</small></div>
            <p class="small muted">of at most {moneyText(job.budget_micro, 2)}</p>
        </div>
        <Gauge spent={cost} total={money.micro(job.budget_micro)} tone={isLow(job, now) ? 'lamp' : undefined}
            label={`${moneyText(cost, 2)} of ${moneyText(job.budget_micro, 2, job.asset)} spent`} />
        <div class="row spread">
            <span class="small"><Left job={job} /></span>
            <Button small kind="tint" href={`/rentals/${job.job_id}`} label={`Open ${nameOf(job)}`}>Open</Button>
        </div>
    </Panel>;
}

const cards = {
    display: 'grid', gap: 'var(--s-4)', gridTemplateColumns: 'repeat(auto-fill, minmax(min(330px, 100%), 1fr))',
};

const columns: Column<Job>[] = [
    { head: 'Rental', cell: nameOf },
    { head: 'Machine', cell: (job) => machineText(job) ?? <span class="muted">{classText(job)}</span>, narrow: 'hide' },
    { head: 'How it ended', cell: (job) => <>
        <State job={job} />{' '}
        <span class="small muted">{endText(job)}</span>
    </> },
    { head: 'Ended', cell: (job) => <Ago at={job.ended_at ?? job.created_at} /> },
    { head: 'Ran', right: true, cell: (job) => <Duration ms={job.accepted_runtime_ms} /> },
    { head: 'Cost', right: true, cell: (job) =>
        <Money micro={job.cumulative_charge_micro} asset={job.asset} places={4} /> },
];

function Nothing() {
    return <Empty title="Nothing runs."
        action={<Button kind="primary" href="/">Rent a GPU</Button>}>
        A model of 7 billion parameters answers about a minute after you rent. You say what it may cost at most,
        and nothing is charged until it answers.
    </Empty>;
}

/** The operation takes `state`. */
type Wish = Parameters<typeof usePages<'list_jobs'>>[1];
const inState = (state: 'open' | 'closed', limit: number) => ({ query: { state, limit } }) as Wish;

function Open({ list }: { list: Listed<Job> }) {
    if (!list.items) return list.error ? <Failure error={list.error} retry={list.refetch} /> : <Loading rows={6} />;
    if (list.items.length === 0) return <Nothing />;
    return <>
        <div style={cards}>{list.items.map((job) => <OpenRental key={job.job_id} job={job} />)}</div>
        <More list={list} />
    </>;
}

function Closed({ list }: { list: Listed<Job> }) {
    if (list.error) return <Failure error={list.error} retry={list.refetch} />;
    if (!list.items?.length) return null;
    return <Panel title="Ended" flush>
        <Table caption="Rentals that are over" columns={columns} rows={list.items}
            keyOf={(job) => job.job_id} href={(job) => `/rentals/${job.job_id}`} />
        <More list={list} />
    </Panel>;
}

export default function Rentals() {
    const [every, setEvery] = useState(5);
    const open = usePages('list_jobs', inState('open', 50), { every }) as Listed<Job>;
    const closed = usePages('list_jobs', inState('closed', 20), { every: 60 }) as Listed<Job>;
    const count = open.items?.length;
    const wanted = count === 0 ? 60 : open.items?.some(isMoving) ? 2 : 5;
    useEffect(() => setEvery(wanted), [wanted]);
    // What has just ended belongs below at once.
    useEffect(() => closed.refetch(), [count]);
    return <Page title="Rentals" actions={count ? <Button kind="primary" href="/">Rent a GPU</Button> : undefined}>
        <div class="stack">
            <Open list={open} />
            <Closed list={closed} />
        </div>
    </Page>;
}
