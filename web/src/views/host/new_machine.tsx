// How a machine comes in: a line to paste, a token that lives fifteen minutes, and its test as it happens.
import { useEffect, useState } from 'preact/hooks';
import { fieldError, useChange, useRead } from '../../api';
import { Countdown, useNow } from '../../format';
import {
    Button, Choice, Code, Copy, Failure, Field, Loading, Notice, Page, Panel, Steps, TextInput, useCopy,
} from '../../kit';
import { useQuery } from '../../router';
import { MachineTest } from './machine_test';
import { useEnrollment, useMachine, type EnrollmentState, type MadeEnrollment } from './later';
import { gpusOf } from './parts';

/** Where the server did not write the line itself. */
function installLine(made: MadeEnrollment | undefined): string {
    return made?.install_line ?? `berth-agent enroll --server ${location.origin} --token-file -`;
}

export default function NewMachine() {
    const [{ enrollment }, setQuery] = useQuery();
    const [made, setMade] = useState<MadeEnrollment>();
    // The token lives here alone, and is gone with the page.
    useEffect(() => () => setMade(undefined), []);
    const own = made && made.enrollment_id === enrollment ? made : undefined;
    const begin = (answer: MadeEnrollment) => {
        setMade(answer);
        setQuery({ enrollment: answer.enrollment_id }, { replace: true });
    };
    const again = () => {
        setMade(undefined);
        setQuery({ enrollment: undefined }, { replace: true });
    };
    return <Page title="Add a machine" crumbs={[['Machines', '/host']]}
        facts={<span>One line on it, a three-minute test, your price.</span>}>
        {enrollment ? <Coming id={enrollment} made={own} onAgain={again} /> : <Begin onMade={begin} />}
    </Page>;
}

function Begin({ onMade }: { onMade: (made: MadeEnrollment) => void }) {
    const [label, setLabel] = useState('');
    const [tier, setTier] = useState<'container' | 'inference'>('container');
    const make = useChange('create_enrollment', { done: (answer) => onMade(answer as MadeEnrollment) });
    const send = (event: Event) => {
        event.preventDefault();
        const name = label.trim();
        void make.run({ body: name ? { tier, label: name } : { tier } });
    };
    const labelError = fieldError(make.error, 'body.label');
    return <Panel title="What is it?">
        <form class="stack" onSubmit={send} noValidate>
            <Field label="What you call it" hint="You can change it later. Renters do not see it." error={labelError}>
                {(ids) => <TextInput {...ids} value={label} onInput={setLabel} maxLength={64} placeholder="atlas-2" />}
            </Field>
            <fieldset class="stack">
                <legend>What runs on it</legend>
                <Choice name="tier" value="container" checked={tier === 'container'}
                    onChange={() => setTier('container')}
                    label="Containers of renters" hint="Models and anything else, shut in by podman. Most machines." />
                <Choice name="tier" value="inference" checked={tier === 'inference'}
                    onChange={() => setTier('inference')}
                    label="Models that you serve" hint="Engines of your own, without containers and without SSH." />
            </fieldset>
            {make.error && !labelError && <Failure error={make.error} />}
            <div class="actions"><Button kind="primary" type="submit" busy={make.busy}>Make its token</Button></div>
        </form>
    </Panel>;
}

function Coming({ id, made, onAgain }: { id: string; made: MadeEnrollment | undefined; onAgain: () => void }) {
    const [isOver, setOver] = useState(false);
    const read = useEnrollment(id, isOver);
    const told = read.data?.state;
    useEffect(() => setOver(told !== undefined && told !== 'waiting'), [told]);
    const nowMs = useNow(1_000);
    if (read.error && !made) return <Failure error={read.error} retry={onAgain} />;
    if (!read.data && !made) return <Loading rows={5} />;
    const state = stateOf(read.data, made, nowMs);
    const machineId = read.data?.machine_id ?? undefined;
    const isIn = state === 'used' && machineId !== undefined;
    const expiresAt = read.data?.expires_at ?? made?.expires_at;
    if (state === 'expired') {
        return <Notice tone="lamp" title="The token is too old" role="status"
            actions={<Button kind="primary" onClick={onAgain}>Make another</Button>}>
            It lived for fifteen minutes and nobody used it. Nothing was enrolled.
        </Notice>;
    }
    return <Panel label="Steps"><Steps items={[
        { title: isIn ? 'Pasted' : 'Paste this on the machine', state: isIn ? 'done' : 'now',
            children: isIn ? undefined : <Paste made={made} expiresAt={expiresAt} onAgain={onAgain} /> },
        { title: isIn ? 'It came in' : 'Waiting for it', state: isIn ? 'done' : 'now',
            children: isIn ? undefined : <p class="soft" role="status">
                This page notices by itself. Then the agent must run:
                {' '}<code>sudo systemctl enable --now berth-agent</code>
            </p> },
        { title: 'Its test', state: isIn ? 'now' : 'todo',
            children: isIn ? <Testing id={machineId} /> : 'GPUs, memory, disk, line and whether renters reach it.' },
        { title: 'Your price', state: 'todo', children: isIn
            ? <div class="row"><Button href={`/host/machines/${machineId}/offer`}>Set a price</Button>
                <a href={`/host/machines/${machineId}`}>See the machine</a></div>
            : 'What others ask, and what you keep.' },
    ]} /></Panel>;
}

function stateOf(read: EnrollmentState | undefined, made: MadeEnrollment | undefined, nowMs: number): string {
    if (read?.state === 'used' || read?.machine_id) return 'used';
    const end = read?.expires_at ?? made?.expires_at;
    return read?.state === 'expired' || (end !== undefined && Date.parse(end) <= nowMs) ? 'expired' : 'waiting';
}

function Paste({ made, expiresAt, onAgain }: {
    made: MadeEnrollment | undefined; expiresAt: string | undefined; onAgain: () => void;
}) {
    const [isCopied, copy] = useCopy();
    const line = installLine(made);
    return <div class="stack">
        <Code text={line} label="the line" wrap />
        <div class="actions"><Button kind="primary" icon={isCopied ? 'check' : 'copy'} onClick={() => copy(line)}>
            Copy</Button></div>
        {made?.token ? <Token token={made.token} />
            : <p class="soft">The token was shown once. <Button small onClick={onAgain}>Make another</Button></p>}
        <p class="small muted">
            The line waits for the token: paste it and press Enter. Where renters reach the machine
            under another name, add <code>--public-host NAME --ports 41000-41019</code> to it.
            <br />
            <code>berth-agent doctor</code> says beforehand what is missing.
        </p>
        {expiresAt && <p>Good for one machine and for <Countdown until={expiresAt} /> more.</p>}
    </div>;
}

/** Masked until somebody wants to see it; copying needs no look. */
function Token({ token }: { token: string }) {
    const [isShown, setShown] = useState(false);
    return <div class="tight">
        <span class="strong" id="token-label">Token</span>
        <div class="row" role="group" aria-labelledby="token-label">
            <code class="mono">{isShown ? token : '•'.repeat(24)}</code>
            <Copy text={token} label="the token" />
            <Button small pressed={isShown} onClick={() => setShown(!isShown)}>{isShown ? 'Hide' : 'Show'}</Button>
        </div>
        <span class="small muted">Who has it can enrol a machine for you. It is shown here once.</span>
    </div>;
}

/** The test as it happens; its end leads on. */
function Testing({ id }: { id: string }) {
    const test = useRead('show_qualification', { path: { id } }, { every: 2 });
    const machine = useMachine(id, 5);
    const retry = useChange('retry_qualification', { refresh: ['show_qualification', 'show_machine'] });
    const isOver = test.data?.outcome === 'passed' || test.data?.outcome === 'failed';
    return <div class="stack">
        {machine.data && <p class="soft">{gpusOf(machine.data)}</p>}
        {test.data?.outcome === 'passed' && <Notice tone="go" role="status" title="It passed"
            actions={<Button kind="primary" href={`/host/machines/${id}/offer`}>Set a price</Button>}>
            Say what an hour costs, and put it up for rent.
        </Notice>}
        {test.data?.outcome === 'failed' && <Notice tone="stop" role="status" title="It did not pass"
            actions={<Button kind="primary" busy={retry.busy} onClick={() => void retry.run({ path: { id } })}>
                Test again</Button>}>
            Below stands what was found, what is needed and what to do.
        </Notice>}
        {retry.error && <Failure error={retry.error} />}
        <MachineTest test={test} canRetry={isOver} busy={retry.busy} onRetry={() => retry.run({ path: { id } })} />
    </div>;
}
