// Sending: by the wallet of the browser, or by hand with a QR code and the hash afterwards.
import { money } from 'berth-client';
import { useState } from 'preact/hooks';
import { Button, Copy, Field, Notice, Qr, TextInput } from '../../kit';
import { useSender } from './add_intent';
import { plainUnits } from './amount';
import type { Intent } from './claiming';
import { assetOf } from './funding';
import { brief, findWallet, isHash, paymentUri, sendToken, WalletFault } from './wallet';

export function SendIt({ intent, onSent }: { intent: Intent; onSent: (hash: string) => void }) {
    const sender = useSender(intent);
    const isOpen = intent.state === 'OPEN' || intent.state === 'EXCEPTION';
    return <div class="stack">
        {isOpen && findWallet() && <ByWallet intent={intent} sender={sender} onSent={onSent} />}
        {isOpen && <ByHand intent={intent} sender={sender} />}
        <Sent onSent={onSent} />
    </div>;
}

function ByWallet({ intent, sender, onSent }: {
    intent: Intent; sender: string | undefined; onSent: (hash: string) => void;
}) {
    const [busy, setBusy] = useState(false);
    const [fault, setFault] = useState<WalletFault>();
    const amount = `${plainUnits(intent.amount_micro)} ${assetOf(intent)}`;
    async function send() {
        const wallet = findWallet();
        if (!wallet || !sender) return;
        setBusy(true);
        setFault(undefined);
        try {
            onSent(await sendToken(wallet, {
                from: sender, to: intent.treasury_address, token: intent.token, amountMicro: intent.amount_micro }));
        } catch (found) {
            setFault(found instanceof WalletFault ? found : new WalletFault(String(found), false));
        }
        setBusy(false);
    }
    return <div class="stack">
        <Button kind="primary" wide icon="wallet" busy={busy} disabled={!sender} onClick={() => void send()}>
            {busy ? 'Look at your wallet' : `Send ${amount} with your wallet`}
        </Button>
        <p class="small muted">Your wallet shows the transfer and asks you. The network’s fee on Base is usually
            below 0.01 USD; you pay it in ETH.</p>
        {fault && <Notice tone={fault.isRefusal ? 'lamp' : 'stop'} role="alert" title={fault.message}>
            {fault.isRefusal ? 'Press the button again when you are ready, or call it off.' : undefined}
        </Notice>}
    </div>;
}

function ByHand({ intent, sender }: { intent: Intent; sender: string | undefined }) {
    const asset = assetOf(intent);
    const exact = money.toUnits(intent.amount_micro);
    const uri = paymentUri(intent.token, intent.treasury_address, intent.amount_micro, intent.chain_id);
    return <div class="stack">
        <h3 class="soft">{findWallet() ? 'Or send' : 'Send'} it by hand{sender && `, from ${brief(sender)}`}</h3>
        <div class="pay">
            <Qr text={uri} label="The payment as a QR code for your wallet" />
            <dl class="kv small">
                <dt>Send exactly</dt><dd class="strong">{exact} {asset} <Copy text={exact} label="the amount" /></dd>
                <dt>On</dt><dd>Base (chain {intent.chain_id})</dd>
                <dt>To</dt><dd class="mono" style={{ overflowWrap: 'anywhere' }}>{intent.treasury_address}{' '}
                    <Copy text={intent.treasury_address} label="the address" /></dd>
                <dt>Token</dt><dd class="mono" title={intent.token}>{brief(intent.token)}{' '}
                    <Copy text={intent.token} label="the contract of the token" /></dd>
            </dl>
        </div>
    </div>;
}

function Sent({ onSent }: { onSent: (hash: string) => void }) {
    const [text, setText] = useState('');
    const [error, setError] = useState<string>();
    function give(event: Event) {
        event.preventDefault();
        // A link of an explorer ends with the hash.
        const hash = /0x[0-9a-fA-F]{64}(?![0-9a-fA-F])/.exec(text)?.[0];
        if (hash && isHash(hash)) onSent(hash.toLowerCase());
        else setError('0x and 64 digits: your wallet shows it as the hash of the transaction.');
    }
    return <form onSubmit={give}>
        <Field label="Transaction, once it is sent" error={error}
            hint={findWallet() ? 'We look for it ourselves when you pay with the button.' : undefined}>
            {(ids) => <div class="inline">
                <TextInput {...ids} mono value={text} placeholder="0x…"
                    onInput={(next) => { setText(next); setError(undefined); }} />
                <Button type="submit" disabled={text.trim() === ''}>I have sent it</Button>
            </div>}
        </Field>
    </form>;
}
