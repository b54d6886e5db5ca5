// How a rental comes up, live and afterwards.
import type { Schema } from 'berth-client';
import type { ComponentChildren } from 'preact';
import { useRead } from '../../api';
import { bytes, Countdown, duration, moneyText, useNow, visible } from '../../format';
import { Panel, Steps, Timeline } from '../../kit';
import type { Job } from './job';

type Times = Schema<'TimeToReady'>;
type StepName = 'pull' | 'load' | 'probe';
const order: StepName[] = ['pull', 'load', 'probe'];
const giB = 2 ** 30;

/** With a tenth below ten seconds, where whole ones would say nothing. */
function took(ms: string | number): string {
    return Number(ms) < 10_000 ? `${(Number(ms) / 1_000).toFixed(1)} s` : duration(ms);
}

const sum = (times: Times) => Number(times.pull_ms) + Number(times.load_ms) + Number(times.probe_ms);

function pulled(job: Job): string | undefined {
    const { done_bytes: done, total_bytes: total } = job.progress ?? {};
    if (done === null || done === undefined) return undefined;
    return total ? `${(Number(done) / giB).toFixed(1)} of ${(Number(total) / giB).toFixed(1)} GiB` : bytes(done);
}

const titles: Record<StepName, [now: string, done: string, todo: string]> = {
    pull: ['Pulling the image', 'Image pulled', 'Pull the image'],
    load: ['Loading', 'Loaded', 'Load it'],
    probe: ['Asking it something', 'It answers', 'Ask it something'],
};

/** A bar under the step that is counted; the others take as long as they take. */
function Counted({ job }: { job: Job }) {
    const { done_bytes: done, total_bytes: total } = job.progress ?? {};
    if (!done || !total || Number(total) <= 0) return null;
    return <progress value={Math.min(Number(done), Number(total))} max={Number(total)} aria-label="Pulled so far"
        style={{ width: '100%', accentColor: 'var(--accent)' }} />;
}

function Body({ job, name, at, usual }: { job: Job; name: StepName; at: boolean; usual: Times | null | undefined }) {
    const usualMs = usual?.[`${name}_ms`];
    return <>
        <p class="small muted">
            {[at ? pulled(job) : undefined, usualMs === undefined ? undefined : `usually ${took(usualMs)}`]
                .filter(Boolean).join(' · ')}
        </p>
        {at && name === 'pull' && <Counted job={job} />}
    </>;
}

export function StartPanel({ job, aside }: { job: Job; aside?: ComponentChildren }) {
    const now = useNow(1_000);
    const template = useRead('show_template', { path: { id: job.template?.id ?? '' } },
        { enabled: job.template !== null });
    const usual = template.data?.time_to_ready;
    const at = job.progress ? order.indexOf(job.progress.step as StepName) : -1;
    const items = order.map((name, index) => {
        const state = index < at ? 'done' as const : index === at ? 'now' as const : 'todo' as const;
        const [nowTitle, doneTitle, todoTitle] = titles[name];
        return {
            state, title: state === 'done' ? doneTitle : state === 'now' ? nowTitle : todoTitle,
            children: <Body job={job} name={name} at={index === at} usual={usual} />,
        };
    });
    const held = `${moneyText(job.budget_micro, 2, job.asset)} of your balance is held.`;
    const reserved = {
        title: at < 0 ? 'Reserved. The machine is being told.' : 'Reserved',
        state: at < 0 ? 'now' as const : 'done' as const,
        children: <p class="small muted">{held} Nothing is charged until it answers.</p>,
    };
    const step = at < 0 ? undefined : order[at];
    const since = duration(Math.max(0, now - Date.parse(job.created_at)));
    const head = <div class="row">
        <span class="small muted num">{usual ? `${since}, usually ${took(sum(usual))}` : since}</span>{aside}
    </div>;
    const patience = job.state_deadline && <>If nothing moves, the service gives up in{' '}
        <Countdown until={job.state_deadline} />, and you pay nothing.</>;
    return <Panel title="It is coming up" aside={head} footer={patience}>
        <p class="sr" role="status">{step ? titles[step][0] : 'Reserved'}</p>
        <Steps items={[reserved, ...items]} />
    </Panel>;
}

interface Happened { at: number | string; children: ComponentChildren; tone?: 'go' | 'lamp' | 'stop' | 'slack' }

/** Counted back from READY, whose time the service knows. */
function steps(job: Job, times: Times): Happened[] {
    const ready = Date.parse(job.meter_started_at!);
    const loaded = ready - Number(times.probe_ms);
    const total = took(Math.max(0, ready - Date.parse(job.created_at)));
    return [
        { at: loaded - Number(times.load_ms), tone: 'go',
            children: <>Image pulled <span class="muted">{took(times.pull_ms)}</span></> },
        { at: loaded, tone: 'go', children: <>Loaded <span class="muted">{took(times.load_ms)}</span></> },
        { at: ready, tone: 'go', children: <>It answers. The meter starts here.{' '}
            <span class="muted">{total} after you rented</span></> },
    ];
}

function health(job: Job): Happened[] {
    return (job.health_events ?? []).map((event) => ({
        at: event.at, tone: event.kind === 'GPU_BACK' ? 'go' as const : 'lamp' as const,
        children: <>{healthWords[event.kind] ?? event.kind}{' '}
            <span class="muted">{visible([event.pci_address, event.text].filter(Boolean).join(': '))}</span></>,
    }));
}

function happened(job: Job): Happened[] {
    const held = job.ended_at ? 'was' : 'is';
    const items: Happened[] = [{ at: job.created_at, tone: 'go',
        children: `Reserved. At most ${moneyText(job.budget_micro, 2, job.asset)} of your balance ${held} held.` }];
    if (job.meter_started_at && job.time_to_ready) items.push(...steps(job, job.time_to_ready));
    else if (job.meter_started_at) {
        items.push({ at: job.meter_started_at, tone: 'go', children: 'It answers. The meter starts here.' });
    }
    items.push(...health(job));
    const add = (at: string | null | undefined, tone: Happened['tone'], children: string) => {
        if (at) items.push({ at, tone, children });
    };
    add(job.preemption?.notice_at, 'lamp', 'The host asked for the machine back. The meter stopped here.');
    add(job.ended_at, job.state === 'FAILED' ? 'stop' : 'slack', 'Nothing runs any more.');
    add(job.cleaned_at, 'slack', 'The machine says that everything was wiped.');
    return items.sort((a, b) => new Date(a.at).getTime() - new Date(b.at).getTime());
}

export function HistoryPanel({ job, aside }: { job: Job; aside?: ComponentChildren }) {
    return <Panel title={job.ended_at ? 'What happened' : 'How it came up'} aside={aside}>
        <Timeline items={happened(job)} />
        {job.egress && <p class="small muted">Sent {bytes(job.egress.used_bytes)} of {bytes(job.egress.included_bytes)}
            {job.egress.state === 'shaped' ? ': all of it is used, and what it sends now goes at 10 Mb/s.' : '.'}</p>}
    </Panel>;
}

const healthWords: Record<string, string> = {
    GPU_XID: 'A GPU reported a fault', GPU_ECC: 'A GPU found a memory fault',
    GPU_LOST: 'A GPU was lost. It is not billed.', GPU_BACK: 'The GPU is back',
};
