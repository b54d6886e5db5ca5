// A payout: amount, address, and a code in the sheet that names both.
import { useState } from 'preact/hooks';
import { money, type Answer, type Schema } from 'berth-client';
import { fieldError, useChange, useRead } from '../../api';
import { Countdown, moneyText, shortId, When } from '../../format';
import { AmountInput, Button, CodeInput, Failure, Field, Loading, Notice, Panel, Select, Sheet,
    TextInput } from '../../kit';
import { useSession } from '../../session';
import { BoxMail } from '../money/box';
import { Unsettled } from '../money/unsettled';
import { amountOf } from './parts';

type Asset = 'USDC' | 'USDT';
interface Wish { address: string; amount_micro: string; asset: Asset; label?: string }

const other = 'other';
const isAddress = (text: string) => /^0x[0-9a-fA-F]{40}$/.test(text);

export function PayoutForm({ asset, payable }: { asset: Asset; payable: string }) {
    const saved = useRead('list_withdrawal_addresses', {});
    const [accepted, setAccepted] = useState<Answer<'request_payout'>>();
    if (saved.error) return <Panel title="Pay out"><Failure error={saved.error} retry={saved.refetch} /></Panel>;
    if (!saved.data) return <Panel title="Pay out"><Loading rows={5} /></Panel>;
    const usable = saved.data.items.filter(({ state }) => state === 'SAVED');
    return <Panel title="Pay out">
        {accepted && <Accepted accepted={accepted} />}
        <Fill asset={asset} payable={payable} saved={usable} onAccepted={setAccepted} />
    </Panel>;
}

function Accepted({ accepted }: { accepted: Answer<'request_payout'> }) {
    if (accepted.state === 'AWAITING_EMAIL_CONFIRMATION') {
        return <Notice tone="lamp" role="status" title="Look into your mail">
            <p>The address is new. Nothing moves before you press the link that we mailed
                {accepted.expires_at && <>, until <When at={accepted.expires_at} /></>}.</p>
            <BoxMail />
        </Notice>;
    }
    return <Notice tone="go" role="status" title="Asked for">
        The money is set aside and will be sent. It stands below.
    </Notice>;
}

function Fill({ asset, payable, saved, onAccepted }: {
    asset: Asset; payable: string; saved: readonly Schema<'WithdrawalAddress'>[];
    onAccepted: (answer: Answer<'request_payout'>) => void;
}) {
    const [amount, setAmount] = useState('');
    const [chosen, setChosen] = useState(saved[0]?.address ?? other);
    const [typed, setTyped] = useState('');
    const [label, setLabel] = useState('');
    const [isTried, setTried] = useState(false);
    const [wish, setWish] = useState<Wish>();
    const micro = amountOf(amount);
    const address = chosen === other ? typed.trim() : chosen;
    const amountFault = micro === undefined || micro <= 0n ? 'Give an amount above zero, with at most six places.'
        : micro > BigInt(payable) ? `At most ${money.toUnits(payable)} is ready.` : undefined;
    const addressFault = isAddress(address) ? undefined : 'An address is 0x and 40 digits of 0 to 9 and a to f.';
    const ask = (event: Event) => {
        event.preventDefault();
        setTried(true);
        if (amountFault || addressFault || micro === undefined) return;
        const name = chosen === other ? label.trim() : '';
        setWish({ address, amount_micro: String(micro), asset, ...(name && { label: name }) });
    };
    const done = (answer: Answer<'request_payout'>) => {
        setWish(undefined);
        setAmount('');
        setTried(false);
        onAccepted(answer);
    };
    return <>
        <form class="stack" onSubmit={ask} noValidate>
            <Field label="Amount" error={isTried ? amountFault : undefined}
                hint={`${moneyText(payable, 6, asset)} is ready.`}>
                {(ids) => <AmountInput {...ids} value={amount} unit={asset} onInput={setAmount} />}
            </Field>
            <div class="row"><Button small onClick={() => setAmount(money.toUnits(payable))}>All of it</Button></div>
            <Field label="To" hint="On the network Base.">
                {(ids) => <Select {...ids} value={chosen} onChange={setChosen} options={[
                    ...saved.map(({ address: each, label: name }) =>
                        [each, name ? `${name}, ${shortId(each)}` : shortId(each)] as const),
                    [other, 'Another address'] as const,
                ]} />}
            </Field>
            {chosen === other && <>
                <Field label="Address" error={isTried ? addressFault : undefined}
                    hint="A new address is confirmed by a link that we mail.">
                    {(ids) => <TextInput {...ids} mono value={typed} onInput={setTyped} placeholder="0x…"
                        maxLength={42} />}
                </Field>
                <Field label="What you call it" hint="Left out, it has no name.">
                    {(ids) => <TextInput {...ids} value={label} onInput={setLabel} maxLength={40} />}
                </Field>
            </>}
            <div class="actions"><Button kind="primary" type="submit">
                {micro !== undefined && !amountFault ? `Pay out ${moneyText(micro, 2, asset)}` : 'Pay out'}
            </Button></div>
        </form>
        {wish && <Confirm wish={wish} onClose={() => setWish(undefined)} onDone={done} />}
    </>;
}

/** The code is bound to this address and amount. */
function Confirm({ wish, onClose, onDone }: {
    wish: Wish; onClose: () => void; onDone: (answer: Answer<'request_payout'>) => void;
}) {
    const hasAuthenticator = useSession()?.mfa_enrolled ?? false;
    const [code, setCode] = useState('');
    const [sent, setSent] = useState<Answer<'send_withdrawal_code'>>();
    const mail = useChange('send_withdrawal_code', { done: setSent });
    const request = useChange('request_payout',
        { refresh: ['list_payouts', 'show_earnings', 'list_withdrawal_addresses'], done: onDone });
    const amount = moneyText(wish.amount_micro, 6, wish.asset);
    const { label: _, ...bound } = wish;
    const error = fieldError(request.error, 'body.code')
        ?? (request.error?.code === 'AUTHORIZATION_INVALID'
            ? 'That code is wrong or used. Wait for the next.' : undefined);
    const canSend = hasAuthenticator || sent !== undefined;
    const ask = () => void request.run({ body: { ...wish, code } });
    // What is under way cannot be called back by closing the sheet.
    const close = () => { if (!request.busy) onClose(); };
    if (request.error?.mayHaveHappened) {
        return <Sheet title={`Pay out ${amount}`} open onClose={close}><Unsettled again={ask} /></Sheet>;
    }
    return <Sheet title={`Pay out ${amount}`} open onClose={close}
        onSubmit={() => { if (/^\d{6}$/.test(code)) ask(); }}
        actions={<>
            {canSend
                ? <Button kind="primary" type="submit" busy={request.busy} disabled={!/^\d{6}$/.test(code)}>
                    Pay out {moneyText(wish.amount_micro, 2, wish.asset)}</Button>
                : <Button kind="primary" busy={mail.busy}
                    onClick={() => void mail.run({ body: { kind: 'payout', ...bound } })}>
                    Mail me a code</Button>}
            {canSend && !hasAuthenticator && <Button busy={mail.busy}
                onClick={() => void mail.run({ body: { kind: 'payout', ...bound } })}>Mail another</Button>}
            <Button disabled={request.busy} onClick={close}>Cancel</Button>
        </>}>
        <p class="soft">To <span class="mono wrap">{wish.address}</span> on Base.
            What is sent on a chain does not come back.</p>
        {canSend ? <Field label={hasAuthenticator ? 'Code of your authenticator' : 'Code we mailed'} error={error}
            hint={sent && !hasAuthenticator
                ? <>Good for <Countdown until={sent.expires_at} /> more, and for this payout only.</> : undefined}>
            {(ids) => <CodeInput {...ids} value={code} onInput={setCode} autoFocus />}
        </Field> : <p class="small muted">You have no authenticator: a code by mail confirms this payout.</p>}
        {sent && !hasAuthenticator && <BoxMail />}
        {mail.error && <Failure error={mail.error} />}
        {request.error && !error && <Failure error={request.error} />}
    </Sheet>;
}
