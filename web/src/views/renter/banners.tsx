// What a renter must know before anything else on the page.
import { money } from 'berth-client';
import { useRead } from '../../api';
import { Countdown, Money, useNow, When, visible } from '../../format';
import { Button, Notice } from '../../kit';
import { alikeHref, isOver, nextHref, wasTaken, type Job } from './job';

const alike = (job: Job) => <Button kind="primary" href={alikeHref(job)}>Rent one like it</Button>;

function Preemption({ job }: { job: Job }) {
    const now = useNow(1_000);
    const { deadline_at: deadline } = job.preemption!;
    if (job.state === 'RUNNING' && Date.parse(deadline) > now) {
        const left = <span aria-live="off"><Countdown until={deadline} /></span>;
        return <Notice tone="lamp" role="status" actions={alike(job)}
            title={<>The host takes this machine back in {left}.</>}>
            <p>From now on it costs nothing. Fetch what you want to keep.</p>
        </Notice>;
    }
    const back = money.micro(job.budget_micro) - money.micro(job.cumulative_charge_micro);
    return <Notice tone="lamp" role="status" actions={alike(job)}
        title={<>Taken back at <When at={job.ended_at ?? deadline} />.</>}>
        <p>{isOver(job)
            ? <><Money micro={back} asset={job.asset} /> is yours again.</>
            : <><Money micro={back} asset={job.asset} /> comes back to you once the machine is free.</>}</p>
    </Notice>;
}

function Failed({ job }: { job: Job }) {
    const isFree = money.micro(job.cumulative_charge_micro) === 0n;
    return <Notice tone="stop" role="alert" title={visible(job.failure?.message || 'It did not come up.')}
        actions={<Button kind="primary" href={nextHref(job)}>Try the next machine</Button>}>
        {isFree ? <p>You paid nothing.</p>
            : <p>You paid <Money micro={job.cumulative_charge_micro} asset={job.asset} />.</p>}
    </Notice>;
}

const hostWords: Record<string, [title: string, more: string]> = {
    stale: ['The host is silent.', 'You pay only what it proves.'],
    engine_down: ['The engine is down.', 'You are not billed. It ends by itself if it does not come back.'],
    unreachable: ['The machine cannot be reached.', 'From the second minute on you are not billed for that.'],
};

function Files({ job }: { job: Job }) {
    return <Notice title={<>Your files can be fetched for <Countdown until={job.retrieval_until} />.</>}>
        <p>Nothing runs, and nothing is billed. Then the machine is wiped.</p>
    </Notice>;
}

/** What an operator looks into, and what came of it. */
function Disputes({ job }: { job: Job }) {
    const { data } = useRead('list_own_disputes', { query: { job_id: job.job_id } }, { every: 60 });
    return <>{data?.items.map((each) => each.state === 'open'
        ? <Notice key={each.dispute_id} tone="lamp" title={<><Money micro={each.amount_micro} asset={each.asset} /> of it
            is in dispute.</>}><p>We look into it, and write to you.</p></Notice>
        : <Notice key={each.dispute_id} title={<>The dispute was decided {each.outcome === 'upheld'
            ? 'for you' : 'for the host'}.</>}>
            {each.refund_micro && <p><Money micro={each.refund_micro} asset={each.asset} /> came back to you.</p>}
        </Notice>)}</>;
}

export function Banners({ job }: { job: Job }) {
    const now = useNow(5_000);
    const words = job.state === 'RUNNING' ? hostWords[job.host_status] : undefined;
    const hasFiles = job.state === 'STOPPED' && job.retrieval_until && Date.parse(job.retrieval_until) > now;
    return <>
        {job.state === 'FAILED' && <Failed job={job} />}
        {wasTaken(job) && <Preemption job={job} />}
        {words && <Notice tone="lamp" role="status" title={words[0]}><p>{words[1]}</p></Notice>}
        {job.state !== 'FAILED' && job.failure && <Notice tone="stop" title={visible(job.failure.message)} />}
        {hasFiles && <Files job={job} />}
        {isOver(job) && <Disputes job={job} />}
    </>;
}
