// The last test of a machine: what failed first, with what was found, what is needed and what to do.
import { useState } from 'preact/hooks';
import type { Answer } from 'berth-client';
import type { Read } from '../../api';
import { duration, useNow, When } from '../../format';
import { Button, Checks, Empty, Failure, Loading, Panel } from '../../kit';
import { expectedChecks, shownChecks, type ShownCheck } from './checks';

type Qualification = Answer<'show_qualification'>;

/** So many that passed are shown before one asks for the rest. */
const passedShown = 5;

export function MachineTest({ test, onRetry, busy, canRetry }: {
    test: Read<Qualification>; onRetry: () => Promise<unknown>; busy: boolean; canRetry: boolean;
}) {
    const { data } = test;
    if (test.error) return <Panel title="Machine test"><Failure error={test.error} retry={test.refetch} /></Panel>;
    if (!data) return <Panel title="Machine test"><Loading rows={6} /></Panel>;
    if (isRunning(data)) return <Running test={data} />;
    if (data.run_id === null) {
        return <Panel title="Machine test">
            <Empty title="Not tested yet." action={canRetry
                ? <Button busy={busy} onClick={() => void onRetry()}>Test it now</Button> : undefined}>
                The test begins by itself as soon as the agent is heard, and takes about three minutes.
            </Empty>
        </Panel>;
    }
    return <Finished test={data} />;
}

function isRunning(test: Qualification): boolean {
    return test.auto_qualify.state === 'testing' || (test.outcome === 'pending' && test.finished_at === null);
}

/** Results come when the machine reports; until then only the time is known. */
function Running({ test }: { test: Qualification }) {
    const nowMs = useNow(1_000);
    const ran = test.started_at ? Math.max(0, nowMs - Date.parse(test.started_at)) : 0;
    const done = shownChecks(test.checks);
    const names = new Set(done.map(({ name }) => name));
    const rest = expectedChecks.filter((name) => !names.has(name));
    return <Panel title="Machine test" flush aside={<span class="live">running for {duration(ran)}</span>}
        footer="It takes about three minutes. The machine reports when it is through.">
        <Checks items={[...done.map(itemOf), ...rest.map((name) => ({ name, state: 'run' as const }))]} />
    </Panel>;
}

function itemOf({ name, state, found, needed, remedy, command }: ShownCheck) {
    return { name, state, found, needed, remedy, command };
}

function Finished({ test }: { test: Qualification }) {
    const [isWhole, setWhole] = useState(false);
    const checks = shownChecks(test.checks);
    const trouble = checks.filter(({ state }) => state === 'fail' || state === 'warn');
    const calm = checks.filter(({ state }) => state === 'pass' || state === 'wait');
    const hidden = isWhole ? 0 : Math.max(0, calm.length - passedShown);
    return <Panel title="Machine test" flush aside={<Summary test={test} checks={checks} />}
        footer={hidden > 0
            ? <Button kind="quiet" small onClick={() => setWhole(true)}>Show {hidden} more</Button>
            : test.next_attempt_at ? <>The next test may begin <When at={test.next_attempt_at} />.</> : undefined}>
        {test.findings.length > 0 && trouble.length === 0 && <ul class="body">
            {test.findings.map(({ code, message }) => <li key={code}>{message}</li>)}
        </ul>}
        <Checks items={[...trouble, ...calm.slice(0, calm.length - hidden)].map(itemOf)} />
    </Panel>;
}

function Summary({ test, checks }: { test: Qualification; checks: ShownCheck[] }) {
    const of = (state: string) => checks.filter((check) => check.state === state).length;
    const took = test.started_at && test.finished_at
        ? Date.parse(test.finished_at) - Date.parse(test.started_at) : undefined;
    return <span class="small muted">
        <When at={test.finished_at ?? test.started_at} />
        {took !== undefined && `, took ${duration(took)}`}
        {of('fail') > 0 && <> · <span class="bad">{of('fail')} failed</span></>}
        {of('warn') > 0 && <> · <span class="warn">{of('warn')} advice</span></>}
        {' · '}{of('pass')} passed
    </span>;
}
