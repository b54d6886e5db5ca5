// The relay's figures and the log of a rental.
import { useRead } from '../../api';
import { Ago, count } from '../../format';
import { Code, Empty, Failure, Loading, Panel, Stats } from '../../kit';
import type { Job } from './job';
import { visibleLog } from './visible';

const unknown = <span class="small muted">not measured</span>;

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
    const first = usage.first_token_ms;
    return <Panel title="Through the relay so far"
        aside={isRunning ? <span class="live"><Ago at={read.updatedAt} /></span> : undefined}>
        <Stats items={[
            ['Requests', count(usage.requests), usage.requests > 0 ? errors : undefined],
            ['Tokens in', usage.prompt_tokens === null ? unknown : count(usage.prompt_tokens)],
            ['Tokens out', usage.completion_tokens === null ? unknown : count(usage.completion_tokens)],
            ['First token', first ? `${count(first.p50)} ms` : unknown,
                first ? `95 % within ${count(first.p95)} ms` : undefined],
            ['Speed', usage.tokens_per_s === null ? unknown : count(Math.round(usage.tokens_per_s)),
                usage.tokens_per_s === null ? undefined : 'tokens a second'],
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
