// More money for a rental, so that it runs longer.
import { money, type Given } from 'berth-client';
import { useRef, useState } from 'preact/hooks';
import { fieldError, useChange, useRead } from '../../api';
import { moneyText, whenText } from '../../format';
import { AmountInput, Button, Failure, Field, Notice, Panel, Segmented, toast } from '../../kit';
import { alikeHref, endWith, limitMs, type Job } from './job';

const amounts: [string, string][] = [['0.50', '+0.50'], ['1.00', '+1.00'], ['2.00', '+2.00'], ['other', 'Other']];

function microOf(units: string): bigint | undefined {
    try {
        const amount = money.micro(money.fromUnits(units.trim()));
        return amount > 0n ? amount : undefined;
    } catch {
        return undefined;
    }
}

function Shortage({ job, add, spendable }: { job: Job; add: bigint; spendable: string | undefined }) {
    const missing = spendable === undefined ? 0n : add - money.micro(spendable);
    const title = missing > 0n ? `You need ${moneyText(missing + 9_999n, 2, job.asset)} more.`
        : 'Your balance is too small for that.';
    const way = new URLSearchParams({ asset: job.asset, back: `/rentals/${job.job_id}` });
    return <Notice tone="lamp" role="alert" title={title}
        actions={<Button small href={`/money/add?${way}`}>Add money</Button>}>
        <p>Nothing was held.</p>
    </Notice>;
}

/** What the button says: the amount, and the end that it buys. */
function promise(job: Job, add: bigint | undefined): string {
    if (add === undefined) return 'Add';
    const end = endWith(job, add);
    const amount = moneyText(add, add % 10_000n === 0n ? 2 : 6);
    return end === undefined ? `Add ${amount}` : `Add ${amount}, run until ${whenText(end)}`;
}

function RaiseForm({ job }: { job: Job }) {
    const [choice, setChoice] = useState('1.00');
    const [other, setOther] = useState('');
    const balance = useRead('show_balances', { query: { asset: job.asset as 'USDC' | 'USDT' } }, { every: 60 });
    const change = useChange('raise_budget', {
        refresh: ['show_job', 'list_jobs', 'show_balances'],
        done: ({ funded_through: end }) => {
            toast(end ? `Added. It runs until ${whenText(end)}.` : 'Added.');
            setOther('');
        },
    });
    const add = microOf(choice === 'other' ? other : choice);
    const isOpen = change.error?.mayHaveHappened === true;
    const sent = useRef<NonNullable<Given<'raise_budget'>['body']> | undefined>(undefined);
    const submit = (event: Event) => {
        event.preventDefault();
        if (add === undefined) return;
        // Where the answer was lost the version may have moved by this very wish: the same one goes again.
        const body = isOpen && sent.current?.add_micro === String(add) ? sent.current
            : { add_micro: String(add), expected_budget_version: job.budget_version };
        sent.current = body;
        void change.run({ path: { id: job.job_id }, body });
    };
    const wrong = fieldError(change.error, 'body.add_micro')
        ?? (other !== '' && add === undefined ? 'An amount such as 1.50, with at most six places.' : undefined);
    const isShort = change.error?.code === 'INSUFFICIENT_FUNDS';
    return <form class="tight" onSubmit={submit}>
        <Segmented label="How much" value={choice} options={amounts} fill
            onChange={(value) => { setChoice(value); if (!isOpen) change.reset(); }} />
        {choice === 'other' && <Field label="Amount" error={wrong}>
            {(ids) => <AmountInput value={other} onInput={setOther} unit={job.asset} {...ids} />}
        </Field>}
        <Button wide type="submit" busy={change.busy} disabled={add === undefined}>{promise(job, add)}</Button>
        {isShort && <Shortage job={job} add={add ?? 0n} spendable={balance.data?.spendable_micro} />}
        {change.error && !isShort && !(choice === 'other' && wrong) && <Failure error={change.error} />}
        <p class="small muted">
            {balance.data && <>Held from your {moneyText(balance.data.spendable_micro, 2, job.asset)}. </>}
            What is not used comes back when you stop.
        </p>
    </form>;
}

/** Where the time limit is what ends it, more money would only be held. */
export function RaisePanel({ job }: { job: Job }) {
    const limit = limitMs(job);
    if (limit !== undefined && Date.parse(job.funded_through ?? '') >= limit - 1_000) {
        return <Panel title="Time limit">
            <p class="soft">The budget lasts. It ends at its time limit, {whenText(limit)}, and more money does not
                move that.</p>
            <Button wide href={alikeHref(job)}>Rent one like it</Button>
        </Panel>;
    }
    return <Panel title="Raise the budget"><RaiseForm job={job} /></Panel>;
}
