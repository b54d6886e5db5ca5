// What a rental costs, and what is left.
import { useEffect, useState } from 'preact/hooks';
import { money } from 'berth-client';
import { duration, Duration, moneyText, Money, Rate, useNow, When } from '../../format';
import { Button, Facts, Gauge, Panel } from '../../kit';
import { endText, isLow, isOver, leftMs, useCost, type Job } from './job';

/** Said once each: every quarter of the budget, and that little is left. */
function Said({ job, cost, low }: { job: Job; cost: bigint; low: boolean }) {
    const quarter = Number(cost * 4n / (money.micro(job.budget_micro) || 1n));
    const [said, setSaid] = useState({ quarter, text: '' });
    useEffect(() => {
        if (quarter !== said.quarter) setSaid({ quarter, text: `${quarter * 25} % of the budget is used.` });
    }, [quarter]);
    useEffect(() => {
        if (low) setSaid({ quarter, text: 'Little is left. Raise the budget, or it ends soon.' });
    }, [low]);
    return <p class="sr" role="status">{said.text}</p>;
}

function End({ job, cost, now }: { job: Job; cost: bigint; now: number }) {
    const left = leftMs(job, now);
    const back = money.micro(job.budget_micro) - cost;
    if (left === undefined) {
        return <Facts items={[['Held for it', <Money micro={job.budget_micro} asset={job.asset} />]]} />;
    }
    const isStopped = Boolean(job.meter_stopped_at);
    return <Facts items={[
        [isStopped ? 'Usable until' : 'Runs until', <strong>
            <When at={job.preemption?.deadline_at ?? job.funded_through} /></strong>],
        isStopped ? null : ['That is in', duration(left)],
        [isStopped ? 'Back to you' : 'Back to you if you stop now',
            <Money micro={back} asset={job.asset} places={4} />],
    ]} />;
}

export function CostPanel({ job }: { job: Job }) {
    const now = useNow(1_000);
    const cost = useCost(job);
    const low = isLow(job, now);
    if (isOver(job)) return <Paid job={job} />;
    const isLive = job.state === 'RUNNING' && job.host_status === 'ok' && !job.meter_stopped_at;
    const proved = `${moneyText(job.cumulative_charge_micro, 6, job.asset)}, as far as the host has proved it`;
    return <Panel title="Cost so far" aside={isLive ? <span class="live">live</span> : 'stands still'}>
        <div>
            <div class="figure" title={proved}>{moneyText(cost, 4)} <small>{job.asset}</small></div>
            <p class="small muted">of at most {moneyText(job.budget_micro, 2)}.{' '}
                {job.meter_started_at && <><Duration ms={job.accepted_runtime_ms} />{' '}</>}
                at <Rate microPerHour={job.rate_micro_per_hour} /> an hour</p>
        </div>
        <Gauge spent={cost} total={money.micro(job.budget_micro)} tone={low ? 'lamp' : undefined}
            label={`${moneyText(cost, 2)} of ${moneyText(job.budget_micro, 2, job.asset)} spent`} />
        <End job={job} cost={cost} now={now} />
        <Said job={job} cost={cost} low={low} />
    </Panel>;
}

function Paid({ job }: { job: Job }) {
    const back = money.micro(job.budget_micro) - money.micro(job.cumulative_charge_micro);
    return <Panel title="What it cost">
        <div>
            <div class="figure" title={moneyText(job.cumulative_charge_micro, 6, job.asset)}>
                {moneyText(job.cumulative_charge_micro, 4)} <small>{job.asset}</small>
            </div>
            <p class="small muted"><Duration ms={job.accepted_runtime_ms} /> at{' '}
                <Rate microPerHour={job.rate_micro_per_hour} /> an hour</p>
        </div>
        <Facts items={[
            ['Came back to you', <Money micro={back} asset={job.asset} places={4} />],
            ['Ended', <When at={job.ended_at} />],
            job.end_reason ? ['Why', endText(job)] : null,
        ]} />
        <Button wide kind="primary" href={`/rentals/${job.job_id}/receipt`}>See the receipt</Button>
    </Panel>;
}
