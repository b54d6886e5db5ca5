// Linking a wallet: a text of the server, signed by the wallet, given back.
import type { Answer } from 'berth-client';
import { useState } from 'preact/hooks';
import { useChange } from '../../api';
import { chooseAccount, findWallet, signText, WalletFault } from './wallet';

export type Binding = Answer<'link_wallet'>;
export type LinkStep = 'idle' | 'choosing' | 'asking' | 'signing' | 'linking';

export function useLinking(known: readonly Binding[], done: (binding: Binding) => void) {
    const [step, setStep] = useState<LinkStep>('idle');
    const [fault, setFault] = useState<WalletFault>();
    const nonce = useChange('make_wallet_nonce');
    const link = useChange('link_wallet', { refresh: ['list_wallets'] });

    async function begin(): Promise<Binding | undefined> {
        const wallet = findWallet();
        if (!wallet) throw new WalletFault('This browser has no wallet.', false);
        setStep('choosing');
        const address = await chooseAccount(wallet);
        const linked = known.find((each) => !each.unlinked_at && each.address.toLowerCase() === address.toLowerCase());
        if (linked) return linked;
        setStep('asking');
        const asked = await nonce.run({ body: { address } } as never) as { message?: string } | undefined;
        if (!asked) return undefined;
        if (!asked.message) throw new WalletFault('The service gave no text to sign. Try again later.', false);
        setStep('signing');
        const signature = await signText(wallet, address, asked.message);
        setStep('linking');
        return await link.run({ body: { chain_id: 8453, address, siwe_message: asked.message, signature } });
    }

    async function run() {
        setFault(undefined);
        nonce.reset();
        link.reset();
        try {
            const binding = await begin();
            if (binding) done(binding);
        } catch (found) {
            setFault(found instanceof WalletFault ? found : new WalletFault(String(found), false));
        }
        setStep('idle');
    }
    return { run, step, fault, error: nonce.error ?? link.error };
}
