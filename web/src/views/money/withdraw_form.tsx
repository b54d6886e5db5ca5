// The wish, then its code: of the authenticator, or mailed for exactly this transfer.
import type { Answer } from 'berth-client';
import { useEffect, useState } from 'preact/hooks';
import { fieldError, useChange, useRead } from '../../api';
import { When } from '../../format';
import { AmountInput, Button, CodeInput, Failure, Field, Notice, Select, TextInput, toast } from '../../kit';
import { useSession } from '../../session';
import { amountFault, parseAmount, plainUnits } from './amount';
import { BoxMail } from './box';
import { Unsettled } from './unsettled';
import { brief, isAddress } from './wallet';

type Asset = 'USDC' | 'USDT';
type Accepted = Answer<'request_withdrawal'>;
interface Wish { address: string; amount_micro: string; asset: Asset; label?: string }
const other = 'other';

function useAddress() {
    const { data } = useRead('list_withdrawal_addresses');
    const saved = data?.items.filter(({ state }) => state === 'SAVED') ?? [];
    const [chosen, setChosen] = useState<string>();
    const [typed, setTyped] = useState('');
    const [label, setLabel] = useState('');
    // A list that comes late does not take the place of what is being typed.
    const choice = chosen ?? (typed === '' ? saved[0]?.address : undefined) ?? other;
    const isNew = choice === other;
    return { saved, choice, setChosen, typed, setTyped, label, setLabel, isNew,
        address: isNew ? typed.trim() : choice };
}

export function WithdrawForm({ asset, most }: { asset: Asset; most: string | undefined }) {
    const to = useAddress();
    const [amount, setAmount] = useState('');
    const [wish, setWish] = useState<Wish>();
    const [wasAsked, setWasAsked] = useState(false);
    const [accepted, setAccepted] = useState<Accepted>();
    const amountWrong = amountFault(amount, most);
    const addressWrong = isAddress(to.address) ? undefined : '0x and 40 digits.';

    function proceed(event: Event) {
        event.preventDefault();
        setWasAsked(true);
        const micro = parseAmount(amount);
        if (amountWrong || addressWrong || micro === null) return;
        setAccepted(undefined);
        const label = to.isNew ? to.label.trim() : '';
        setWish({ address: to.address, amount_micro: micro, asset, ...(label === '' ? {} : { label }) });
    }
    function settled(answer: Accepted) {
        setAccepted(answer);
        setWish(undefined);
        setWasAsked(false);
        setAmount('');
    }

    if (wish) return <Confirm wish={wish} onDone={settled} onBack={() => setWish(undefined)} />;
    return <form class="stack" onSubmit={proceed} noValidate>
        {accepted && <AcceptedNotice accepted={accepted} />}
        <AddressPart to={to} error={wasAsked ? addressWrong : undefined} />
        <Field label="How much" error={wasAsked ? amountWrong : undefined} hint="What is to arrive. The fee is ours.">
            {(ids) => <div class="inline">
                <AmountInput {...ids} value={amount} onInput={setAmount} unit={asset} />
                <Button disabled={!most || most === '0'}
                    onClick={() => most && setAmount(plainUnits(most))}>All</Button>
            </div>}
        </Field>
        <div class="actions"><Button type="submit" kind="primary">Go on</Button></div>
    </form>;
}

function AddressPart({ to, error }: { to: ReturnType<typeof useAddress>; error: string | undefined }) {
    const options: [string, string][] = to.saved.map(({ address, label }) =>
        [address, label ? `${label}, ${brief(address)}` : address]);
    return <>
        {to.saved.length > 0 && <Field label="To" error={to.isNew ? undefined : error}>
            {(ids) => <Select {...ids} value={to.choice} onChange={to.setChosen}
                options={[...options, [other, 'Another address']]} />}
        </Field>}
        {to.isNew && <>
            <Field label={to.saved.length > 0 ? 'The other address' : 'To which address'} error={error}
                hint="We mail a link; nothing moves before it was used.">
                {(ids) => <TextInput {...ids} mono value={to.typed} onInput={to.setTyped} placeholder="0x…" />}
            </Field>
            <Field label="What to call it (optional)">
                {(ids) => <TextInput {...ids} value={to.label} onInput={to.setLabel} maxLength={40}
                    placeholder="My wallet" />}
            </Field>
        </>}
    </>;
}

/** What will happen, in words, and the code that lets it happen. */
function Confirm({ wish, onDone, onBack }: { wish: Wish; onDone: (answer: Accepted) => void; onBack: () => void }) {
    const session = useSession();
    const byMail = session ? !session.mfa_enrolled : false;
    const [code, setCode] = useState('');
    const { address, amount_micro, asset } = wish;
    const mail = useChange('send_withdrawal_code');
    const send = useChange('request_withdrawal', {
        refresh: ['list_withdrawals', 'list_withdrawal_addresses', 'show_balances', 'list_entries'], done: onDone });
    const mailCode = () => mail.run({ body: { kind: 'withdrawal', address, amount_micro, asset } });
    useEffect(() => { if (byMail) void mailCode(); }, [byMail]);

    const amount = `${plainUnits(amount_micro)} ${asset}`;
    const isWrong = send.error?.code === 'AUTHORIZATION_INVALID';
    const members = ['body.amount_micro', 'body.address', 'body.label'];
    const told = members.map((member) => fieldError(send.error ?? mail.error, member)).find(Boolean);
    const ask = () => void send.run({ body: { ...wish, network: 'base', code } });
    function give(event: Event) {
        event.preventDefault();
        ask();
    }
    if (send.error?.mayHaveHappened) return <Unsettled again={ask} />;
    return <form class="stack" onSubmit={give}>
        <p>Send <strong>{amount}</strong> on Base to{' '}
            <span class="mono" style={{ overflowWrap: 'anywhere' }}>{address}</span>.</p>
        {told && <Notice tone="stop" role="alert" title={`This cannot be sent: ${told}`} />}
        <Field label={byMail ? 'Code we mailed to you' : 'Code of your authenticator'}
            error={isWrong ? 'That code is wrong or used. Wait for the next.' : fieldError(send.error, 'body.code')}
            hint={byMail && !mail.error ? `It is for this transfer alone. It went to ${session?.email ?? 'you'}.`
                : undefined}>
            {(ids) => <CodeInput {...ids} value={code} onInput={setCode} autoFocus />}
        </Field>
        {byMail && <BoxMail />}
        {mail.error && !told && <Failure error={mail.error} retry={() => void mailCode()} />}
        {send.error && !isWrong && !told && !fieldError(send.error, 'body.code') && <Failure error={send.error} />}
        <div class="actions">
            <Button type="submit" kind="primary" busy={send.busy} disabled={code.length !== 6}>
                Withdraw {amount}
            </Button>
            {byMail && <Button busy={mail.busy} onClick={() => void mailCode().then((sent) =>
                sent && toast('Another code is on its way.'))}>Mail another</Button>}
            <Button kind="quiet" disabled={send.busy} onClick={onBack}>Change it</Button>
        </div>
    </form>;
}

function AcceptedNotice({ accepted }: { accepted: Accepted }) {
    if (accepted.state === 'AWAITING_EMAIL_CONFIRMATION') {
        return <Notice tone="lamp" role="status" title="One more step: your mail">
            <p>The address is new, so we mailed you a link. Nothing moves before it was used
                {accepted.expires_at && <>, until <When at={accepted.expires_at} /></>}.</p>
            <BoxMail />
        </Notice>;
    }
    return <Notice tone="go" role="status" title="It is in line">
        The money is set aside and will be sent. You may leave; it is listed below.
    </Notice>;
}
