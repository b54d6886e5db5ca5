// Promotional credits: what is left of them, and a code for another.
import { useState } from 'preact/hooks';
import { fieldError, useChange, useRead } from '../../api';
import { moneyText, When } from '../../format';
import { Async, Button, Failure, Field, Panel, TextInput, toast } from '../../kit';

export function Credits() {
    const credits = useRead('list_credits');
    return <Panel title="Credits" footer="They pay for rentals before your balance does. They cannot be withdrawn.">
        <Async read={credits} rows={1}>
            {({ items }) => items.length === 0 ? <p class="soft">None.</p> : <ul class="tight">
                {items.map((credit) => <li key={credit.credit_id} class="tight">
                    <span>{credit.campaign}</span>
                    <span class="small muted">{moneyText(credit.remaining_micro, 2)} of{' '}
                        {moneyText(credit.amount_micro, 2, credit.asset)} left, until{' '}
                        <When at={credit.expires_at} /></span>
                </li>)}
            </ul>}
        </Async>
        <Redeem />
    </Panel>;
}

function Redeem() {
    const [code, setCode] = useState('');
    const redeem = useChange('redeem_code', {
        refresh: ['list_credits', 'show_balances', 'list_entries'],
        done: (credit) => {
            setCode('');
            toast(`${moneyText(credit.amount_micro, 2, credit.asset)} of credit is yours.`);
        },
    });
    const member = fieldError(redeem.error, 'body.campaign_code');
    const isUnknown = redeem.error?.status === 404;
    function give(event: Event) {
        event.preventDefault();
        void redeem.run({ body: { campaign_code: code.trim() } });
    }
    return <form class="stack" onSubmit={give}>
        <Field label="Code of a campaign" error={member ?? (isUnknown ? 'No campaign has this code now.' : undefined)}>
            {(ids) => <div class="inline">
                <TextInput {...ids} value={code} onInput={setCode} mono />
                <Button type="submit" busy={redeem.busy} disabled={code.trim().length < 6}>Redeem</Button>
            </div>}
        </Field>
        {redeem.error && !member && !isUnknown && <Failure error={redeem.error} />}
    </form>;
}
