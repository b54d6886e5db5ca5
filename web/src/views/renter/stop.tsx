// Ending a rental, said before it is done.
import { money } from 'berth-client';
import { useState } from 'preact/hooks';
import { useChange } from '../../api';
import { moneyText } from '../../format';
import { Button, Check, Failure, Icon, Sheet, toast } from '../../kit';
import { may, useCost, type Job } from './job';

const reads = ['show_job', 'list_jobs', 'show_balances', 'show_job_access'] as const;

function What({ job }: { job: Job }) {
    const back = money.micro(job.budget_micro) - useCost(job);
    if (!job.meter_started_at) {
        return <p>It has cost nothing. All of {moneyText(job.budget_micro, 2, job.asset)} comes back to you.</p>;
    }
    return <p>It ends at once and cannot be started again. <strong>{moneyText(back, 4, job.asset)}</strong> comes back
        to you when the machine has confirmed it, within five minutes.</p>;
}

export function StopButton({ job }: { job: Job }) {
    const [isOpen, setOpen] = useState(false);
    const [skips, setSkips] = useState(false);
    const change = useChange('stop_job', {
        refresh: [...reads], done: () => { setOpen(false); toast('It is being stopped.'); } });
    const stop = () => void change.run({
        path: { id: job.job_id }, body: { reason: 'Stopped in the console', skip_retrieval: skips } });
    if (!may(job, 'stop')) return null;
    const hasFiles = job.template?.kind !== 'model' && Boolean(job.meter_started_at);
    return <>
        <Button kind="danger" onClick={() => setOpen(true)}><Icon name="stop" />Stop</Button>
        <Sheet title="Stop this rental?" open={isOpen} onClose={() => setOpen(false)} actions={<>
            <Button onClick={() => setOpen(false)}>Keep it running</Button>
            <Button kind="danger" busy={change.busy} onClick={stop}>Stop it</Button>
        </>}>
            <What job={job} />
            {hasFiles && <Check checked={skips} onChange={setSkips} label="Wipe it at once"
                hint="Without this you can still fetch files for a while, at no cost." />}
            {change.error && <Failure error={change.error} />}
        </Sheet>
    </>;
}

/** Of a rental that has ended and still has its files. */
export function WipeButton({ job }: { job: Job }) {
    const [isOpen, setOpen] = useState(false);
    const change = useChange('stop_job', {
        refresh: [...reads], done: () => { setOpen(false); toast('It is being wiped.'); } });
    const wipe = () => void change.run({
        path: { id: job.job_id }, body: { reason: 'Wiped in the console', skip_retrieval: true } });
    if (!may(job, 'skip_retrieval') || may(job, 'stop')) return null;
    return <>
        <Button kind="danger" onClick={() => setOpen(true)}>Wipe now</Button>
        <Sheet title="Wipe it now?" open={isOpen} onClose={() => setOpen(false)} actions={<>
            <Button onClick={() => setOpen(false)}>Keep the files</Button>
            <Button kind="danger" busy={change.busy} onClick={wipe}>Wipe it</Button>
        </>}>
            <p>Every file on the machine goes, and none of them comes back.</p>
            {change.error && <Failure error={change.error} />}
        </Sheet>
    </>;
}
