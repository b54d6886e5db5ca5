// The relay's figures and the log of a rental.
import type { Answer } from 'berth-client';
import { useRead } from '../../api';
import { Ago, count, visibleLog } from '../../format';
import { Code, Empty, Failure, Loading, Panel, Stats } from '../../kit';
import type { Job } from './job';

const unknown = <span class="small muted">not measured</span>;
const leastS = 0.1; // an engine that hands over its whole answer at once has no speed

/** Tokens a second, where they took long enough to tell. */
function speedOf({ tokens_per_s: speed, completion_tokens: tokens }: Answer<'show_job_usage'>): number | undefined {
    return speed !== null && tokens !== null && speed > 0 && tokens / speed >= leastS ? speed : undefined;
}

export function UsagePanel({ job }: { job: Job }) {
    const isRunning = job.state === 'RUNNING';
    const read = useRead('show_job_usage', { path: { id: job.job_id } }, { every: isRunning ? 10 : undefined });
    const usage = read.data;
    if (!usage) {
        return <Panel title="Through the relay so far">
            {read.error ? <Failure error={read.error} retry={read.refetch} /> : <Loading rows={2} />}
        </Panel>;
    }
    const errors = usage.errors === 0 ? 'none failed' : `${count(usage.errors)} failed`;
    const [first, speed] = [usage.first_token_ms, speedOf(usage)];
    return <Panel title="Through the relay so far"
        aside={isRunning ? <span class="live"><Ago at={read.updatedAt} /></span> : undefined}>
        <Stats items={[
            ['Requests', count(usage.requests), usage.requests > 0 ? errors : undefined],
            ['Tokens in', usage.prompt_tokens === null ? unknown : count(usage.prompt_tokens)],
            ['Tokens out', usage.completion_tokens === null ? unknown : count(usage.completion_tokens)],
            ['First token', first ? `${count(first.p50)} ms` : unknown,
                first ? `95 % within ${count(first.p95)} ms` : undefined],
            ['Speed', speed === undefined ? unknown : count(Math.round(speed)),
                speed === undefined ? undefined : 'tokens a second'],
        ]} />
    </Panel>;
}

export function LogPanel({ job }: { job: Job }) {
    const read = useRead('show_job_logs', { path: { id: job.job_id } }, { every: 5 });
    const text = read.data?.log_tail;
    return <Panel title="Log" id="log" aside={read.data?.at
        ? <span class="small muted">sent <Ago at={read.data.at} /></span> : undefined}>
        {read.error ? <Failure error={read.error} retry={read.refetch} />
            : !read.data ? <Loading rows={4} />
            : text ? <Code wrap text={visibleLog(text)} label="the log" />
            : <Empty title="Nothing yet.">The host sends the last lines of the log when something happens.</Empty>}
    </Panel>;
}
