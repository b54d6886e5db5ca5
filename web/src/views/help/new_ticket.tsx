// A new ticket: what it is about, and what happened.
import type { Answer } from 'berth-client';
import { useState } from 'preact/hooks';
import { fieldError, useChange, useRead } from '../../api';
import { whenText } from '../../format';
import { Button, Failure, Field, Select, TextArea, TextInput } from '../../kit';

const categories: [string, string][] = [['rental', 'A rental'], ['payment', 'A payment'], ['hosting', 'Hosting'],
    ['account', 'My account'], ['other', 'Something else']];

export function categoryWords(category: string): string {
    return categories.find(([name]) => name === category)?.[1] ?? category;
}

export function NewTicket({ about, job, payment, onSent, onClose }: {
    about: string | undefined; job: string | undefined; payment: string | undefined;
    onSent: (ticket: Answer<'create_ticket'>) => void; onClose: () => void;
}) {
    const known = categories.some(([name]) => name === about);
    const [category, setCategory] = useState(known && about ? about : job ? 'rental' : payment ? 'payment' : 'rental');
    const [text, setText] = useState('');
    const [jobId, setJobId] = useState(job ?? '');
    const [reference, setReference] = useState(payment ?? '');
    const create = useChange('create_ticket', { refresh: ['list_tickets'], done: onSent });
    const members = ['category', 'text', 'job_id', 'payment_reference'];
    const told = (member: string) => fieldError(create.error, `body.${member}`);
    function give(event: Event) {
        event.preventDefault();
        void create.run({ body: { category, text: text.trim(),
            ...(category === 'rental' && jobId && { job_id: jobId }),
            ...(category === 'payment' && reference.trim() && { payment_reference: reference.trim() }) } });
    }
    return <form class="stack" onSubmit={give}>
        <Field label="What is it about?" error={told('category')}>
            {(ids) => <Select {...ids} value={category} onChange={setCategory} options={categories} />}
        </Field>
        {category === 'rental' && <JobField value={jobId} onChange={setJobId} error={told('job_id')} />}
        {category === 'payment' && <Field label="Which payment (optional)" error={told('payment_reference')}
            hint="The transaction, or the id of the payment.">
            {(ids) => <TextInput {...ids} mono value={reference} onInput={setReference} />}
        </Field>}
        <Field label="What happened?" error={told('text')} hint="Keys and codes in it are taken out before it is kept.">
            {(ids) => <TextArea {...ids} value={text} onInput={setText} rows={7} />}
        </Field>
        {create.error && !members.some(told) && <Failure error={create.error} />}
        <div class="actions">
            <Button type="submit" kind="primary" busy={create.busy} disabled={text.trim() === ''}>Send it</Button>
            <Button onClick={onClose}>Cancel</Button>
        </div>
    </form>;
}

function JobField({ value, onChange, error }: {
    value: string; onChange: (job: string) => void; error: string | undefined;
}) {
    const { data } = useRead('list_jobs', { query: { limit: 20 } });
    const options = (data?.items ?? []).map((job): [string, string] => {
        const when = job.meter_started_at ? whenText(job.meter_started_at) : job.job_id.slice(0, 8);
        return [job.job_id, `${job.template?.name ?? 'Own image'}, ${when}`];
    });
    if (value && !options.some(([id]) => id === value)) options.unshift([value, value]);
    return <Field label="Which rental (optional)" error={error}>
        {(ids) => <Select {...ids} value={value} onChange={onChange} options={[['', 'None of them'], ...options]} />}
    </Field>;
}
