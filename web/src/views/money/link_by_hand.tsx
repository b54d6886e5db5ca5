// A wallet that is elsewhere: the text is copied to it, and its signature back.
import { useState } from 'preact/hooks';
import { fieldError, useChange } from '../../api';
import { Button, Code, Failure, Field, Sheet, TextInput } from '../../kit';
import type { Binding } from './linking';
import { isAddress } from './wallet';

export function LinkByHand({ onDone }: { onDone: (binding: Binding) => void }) {
    const [isOpen, setIsOpen] = useState(false);
    return <div>
        <Button small kind="quiet" onClick={() => setIsOpen(true)}>Link a wallet that is not in this browser</Button>
        <Sheet title="Link a wallet by hand" open={isOpen} onClose={() => setIsOpen(false)}>
            {isOpen && <Steps onDone={(binding) => { setIsOpen(false); onDone(binding); }} />}
        </Sheet>
    </div>;
}

function Steps({ onDone }: { onDone: (binding: Binding) => void }) {
    const [address, setAddress] = useState('');
    const [message, setMessage] = useState<string>();
    const [signature, setSignature] = useState('');
    const nonce = useChange('make_wallet_nonce');
    const link = useChange('link_wallet', { refresh: ['list_wallets'], done: onDone });
    const [fault, setFault] = useState<string>();

    async function ask(event: Event) {
        event.preventDefault();
        const wanted = address.trim();
        setFault(isAddress(wanted) ? undefined : '0x and 40 digits.');
        if (!isAddress(wanted)) return;
        const answer = await nonce.run({ body: { address: wanted } } as never) as { message?: string } | undefined;
        setMessage(answer?.message);
    }
    function give(event: Event) {
        event.preventDefault();
        if (message === undefined) return;
        void link.run({ body: {
            chain_id: 8453, address: address.trim(), siwe_message: message, signature: signature.trim() } });
    }

    if (message === undefined) {
        return <form class="stack" onSubmit={(event) => void ask(event)}>
            <Field label="Address of the wallet" error={fault ?? fieldError(nonce.error, 'body.address')}>
                {(ids) => <TextInput {...ids} mono value={address} onInput={setAddress} placeholder="0x…" />}
            </Field>
            {nonce.error && !nonce.error.member && <Failure error={nonce.error} />}
            <div class="actions"><Button type="submit" kind="primary" busy={nonce.busy}>Get the text</Button></div>
        </form>;
    }
    const told = fieldError(link.error, 'body.signature');
    return <form class="stack" onSubmit={give}>
        <p class="soft">Sign exactly this text (personal_sign) within five minutes. It moves nothing.</p>
        <Code text={message} wrap label="the text to sign" />
        <Field label="Signature" error={told}>
            {(ids) => <TextInput {...ids} mono value={signature} onInput={setSignature} placeholder="0x…" />}
        </Field>
        {link.error && !told && <Failure error={link.error} />}
        <div class="actions">
            <Button type="submit" kind="primary" busy={link.busy} disabled={signature.trim() === ''}>Link it</Button>
            <Button onClick={() => setMessage(undefined)}>Another text</Button>
        </div>
    </form>;
}
