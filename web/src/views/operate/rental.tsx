// One rental, as an operator sees it: both sides, what was signed, and what may be done.
import type { Item } from 'berth-client';
import { money } from 'berth-client';
import { useState } from 'preact/hooks';
import { fieldError, useChange, useRead } from '../../api';
import { Duration, Id, Money, moneyText, When, visible } from '../../format';
import { AmountInput, Badge, Button, Facts, Failure, Field, Loading, Page, Panel, TextInput, toast } from '../../kit';
import { useParams } from '../../router';
import { endReason, jobState } from '../../words';
import { Consequence, saidOf } from './consequence';
import { BearerField, Pockets } from './refund_sheet';
import { Signed } from './signed';
import { usePreview } from './use_preview';

type Job = Item<'list_all_jobs'>;
type Step = 'stop' | 'refund' | 'dispute';

export default function OneRental() {
    const { id = '' } = useParams();
    const read = useRead('show_job', { path: { id } }, { every: 5 });
    const [step, setStep] = useState<Step>();
    if (read.error) return <Page title="Rental"><Failure error={read.error} retry={read.refetch} /></Page>;
    if (!read.data) return <Page title="Rental"><Loading /></Page>;
    const job = read.data as Job;
    const isOpen = !['STOPPED', 'FAILED', 'CLOSED'].includes(job.state);
    return <Page title={job.template?.name ?? 'Rental'} crumbs={[['Rentals', '/operate/rentals']]}
        facts={<><Badge state={job.state}>{jobState(job.state).word}</Badge><Id value={id} /></>}
        actions={<>
            {isOpen && <Button kind="danger" onClick={() => setStep('stop')}>Stop</Button>}
            <Button onClick={() => setStep('dispute')}>Open a dispute</Button>
            <Button onClick={() => setStep('refund')}>Refund</Button>
        </>}>
        <div class="stack"><JobFacts job={job} /><Signed job={id} /></div>
        {step === 'stop' && <Stop job={job} onClose={() => setStep(undefined)} />}
        {step && step !== 'stop' && <GiveBack key={step} step={step} job={job} onClose={() => setStep(undefined)} />}
    </Page>;
}

function JobFacts({ job }: { job: Job }) {
    return <Panel title="What is known"><Facts items={[
        job.renter_id ? ['Renter', <a href={`/operate/users/${job.renter_id}`}><Id value={job.renter_id} /></a>] : null,
        job.host_id ? ['Host', <a href={`/operate/users/${job.host_id}`}><Id value={job.host_id} /></a>] : null,
        ['Machine', <a href={`/operate/machines/${job.machine_id}`}><Id value={job.machine_id} /></a>],
        ['Charged', <Money micro={job.cumulative_charge_micro} asset={job.asset} places={6} />],
        ['At most', <Money micro={job.budget_micro} asset={job.asset} />],
        ['An hour', <Money micro={job.rate_micro_per_hour} asset={job.asset} places={4} />],
        ['Metered', <Duration ms={job.accepted_runtime_ms} />],
        ['Reserved', <When at={job.created_at} />],
        job.meter_started_at ? ['Ready', <When at={job.meter_started_at} />] : null,
        job.ended_at ? ['Ended', <When at={job.ended_at} />] : null,
        job.end_reason ? ['Because', endReason(job.end_reason)] : null,
        job.failure ? ['Failure', visible(job.failure.message)] : null,
    ]} /></Panel>;
}

function Stop({ job, onClose }: { job: Job; onClose: () => void }) {
    const change = useChange('stop_any_job', { refresh: ['show_job', 'list_all_jobs'], done: () => { toast('It stops'); onClose(); } });
    return <Consequence title="Stop this rental" open onClose={onClose} danger button="Stop it" busy={change.busy}
        error={change.error} run={(reason) => void change.run({ path: { id: job.job_id }, body: { reason } })}>
        <p>The renter pays what was metered until then, {moneyText(job.cumulative_charge_micro, 6, job.asset)} so far,
            and gets the rest back. It cannot be undone.</p>
    </Consequence>;
}

function GiveBack({ step, job, onClose }: { step: 'refund' | 'dispute'; job: Job; onClose: () => void }) {
    const [amount, setAmount] = useState('');
    const [evidence, setEvidence] = useState('');
    const [bearer, setBearer] = useState('');
    const isAmount = /^\d+(\.\d{1,6})?$/.test(amount) && Number(amount) > 0;
    const body = { job_id: job.job_id, amount_micro: isAmount ? String(money.fromUnits(amount)) : '0',
        evidence: [evidence.trim() || `rental ${job.job_id}`] };
    const query = step === 'refund' && bearer ? { bearer } : {};
    const preview = usePreview(step === 'refund' ? 'preview_refund' : 'preview_dispute',
        { query, body: { ...body, reason: 'preview' } });
    const pockets = preview.data && 'host_micro' in preview.data ? preview.data : undefined;
    const after = { refresh: ['show_job' as const, 'list_disputes' as const], done: (answer: object) => {
        toast(saidOf(answer, step === 'refund' ? 'Refunded' : 'The dispute is open'));
        onClose();
    } };
    const [refund, dispute] = [useChange('refund', after), useChange('open_dispute', after)];
    const error = refund.error ?? dispute.error;
    return <Consequence title={step === 'refund' ? 'Refund' : 'Open a dispute'} open onClose={onClose}
        busy={refund.busy || dispute.busy} error={error}
        blocked={!isAmount || !preview.data || pockets?.needs_bearer === true}
        button={`${step === 'refund' ? 'Refund' : 'Dispute'} ${isAmount ? moneyText(body.amount_micro, 6, job.asset) : ''}`}
        run={(reason) => step === 'refund' ? void refund.run({ query, body: { ...body, reason } } as never)
            : void dispute.run({ body: { ...body, reason } })}>
        <Field label="Amount" error={fieldError(error, 'body.amount_micro')} hint={`Charged so far: ${moneyText(job.cumulative_charge_micro, 6, job.asset)}`}>
            {(ids) => <AmountInput {...ids} value={amount} onInput={setAmount} unit={job.asset} />}</Field>
        <Field label="What shows it">{(ids) => <TextInput {...ids} value={evidence} onInput={setEvidence} />}</Field>
        {isAmount && preview.error && <Failure error={preview.error} />}
        {isAmount && preview.data && ('host_micro' in preview.data
            ? <Pockets preview={preview.data} asset={job.asset} />
            : <Facts items={[
                ['Held of the host', <Money micro={preview.data.held_micro} asset={job.asset} places={6} />],
                ['Not secured', <Money micro={preview.data.unsecured_micro} asset={job.asset} places={6} />],
            ]} />)}
        {isAmount && step === 'refund' && <BearerField preview={pockets} bearer={bearer} onChange={setBearer} />}
    </Consequence>;
}
