// How much, and from which wallet.
import { useState } from 'preact/hooks';
import { fieldError, useChange, useRead } from '../../api';
import {
    AmountInput, Button, Choice, Empty, Failure, Field, Loading, Notice, Page, Panel, Segmented, Steps,
} from '../../kit';
import { go, ownAddress, useQuery } from '../../router';
import { BalanceAside, OnlyThisToken, RunsFor } from './add_parts';
import { amountFault, parseAmount, plainUnits } from './amount';
import { PlayMoney, useIsBox } from './box';
import { Funding } from './funding';
import { LinkByHand } from './link_by_hand';
import { useLinking, type Binding } from './linking';
import { useAsset } from './money';
import { brief, findWallet } from './wallet';

const usual = ['10', '25', '50', '100'];

export function AddBegin() {
    const [asset, setAsset] = useAsset();
    const [query] = useQuery();
    const back = ownAddress(query['back']);
    const [amount, setAmount] = useState(query['amount'] ?? '25');
    const [wasAsked, setWasAsked] = useState(false);
    const wallets = useRead('list_wallets');
    const [chosen, setChosen] = useState<string>();
    const isBox = useIsBox();
    const linked = wallets.data?.items.filter((each) => !each.unlinked_at) ?? [];
    const binding = linked.find((each) => each.binding_id === chosen) ?? linked[0];
    const micro = parseAmount(amount);
    const create = useChange('create_funding_intent', {
        refresh: ['list_funding_intents'],
        done: (intent) => go(`/money/add/${intent.intent_id}${back ? `?${new URLSearchParams({ back })}` : ''}`),
    });
    const fault = amountFault(amount);
    const told = fieldError(create.error, 'body.amount_micro');

    function proceed(event: Event) {
        event.preventDefault();
        setWasAsked(true);
        if (fault || micro === null || !binding) return;
        void create.run({ query: { asset }, body: { wallet_binding_id: binding.binding_id, amount_micro: micro } });
    }

    return <Page title="Add money" crumbs={[['Money', '/money']]}
        actions={back && <Button href={back}>Back to where you were</Button>}>
        <div class="cols">
            <form onSubmit={proceed} class="stack">
                <Panel label="A payment from your wallet">
                    <Steps items={[
                        { title: 'Amount', state: 'now', children: <div class="stack">
                            <AmountPart amount={amount} setAmount={setAmount} asset={asset} setAsset={setAsset}
                                error={told ?? (wasAsked ? fault : undefined)} />
                            {micro !== null && micro !== '0' && <p class="soft"><RunsFor micro={micro} /></p>}
                        </div> },
                        { title: 'Wallet', state: binding ? 'done' : 'todo', children: wallets.error
                            ? <Failure error={wallets.error} retry={wallets.refetch} />
                            : !wallets.data ? <Loading rows={1} />
                            : <Wallets all={wallets.data.items} linked={linked} chosen={binding?.binding_id}
                                choose={setChosen} /> },
                        { title: 'Send it', state: 'todo', children: <div class="stack">
                            <Button type="submit" kind="primary" wide busy={create.busy}
                                disabled={!binding || micro === null}>
                                {micro ? `Go on with ${plainUnits(micro)} ${asset}` : 'Go on'}
                            </Button>
                            <p class="small muted">Nothing is sent yet: your wallet asks you first.</p>
                            {create.error && !told && <Failure error={create.error} />}
                        </div> },
                    ]} />
                </Panel>
            </form>
            <aside class="stack">
                {isBox && <PlayMoney asset={asset} />}
                <BalanceAside asset={asset} adding={micro ?? '0'} />
                <OnlyThisToken asset={asset} />
                <Funding title="Earlier" />
            </aside>
        </div>
    </Page>;
}

function AmountPart({ amount, setAmount, asset, setAsset, error }: {
    amount: string; setAmount: (text: string) => void; asset: string; setAsset: (asset: string) => void;
    error: string | undefined;
}) {
    return <>
        <div class="row">
            <Segmented label="Which token" value={asset} onChange={setAsset}
                options={[['USDC', 'USDC'], ['USDT', 'USDT']]} />
            {usual.map((each) => <Button key={each} small kind={amount === each ? 'tint' : undefined}
                onClick={() => setAmount(each)}>{each}</Button>)}
        </div>
        <Field label="How much" error={error} hint="The same amount must arrive in one transfer.">
            {(ids) => <AmountInput {...ids} value={amount} onInput={setAmount} unit={asset} />}
        </Field>
    </>;
}

function Wallets({ all, linked, chosen, choose }: {
    all: readonly Binding[]; linked: readonly Binding[]; chosen: string | undefined; choose: (id: string) => void;
}) {
    const hasWallet = findWallet() !== undefined;
    const linking = useLinking(all, (binding) => choose(binding.binding_id));
    const words = { idle: linked.length ? 'Link another wallet' : 'Link your wallet',
        choosing: 'Choose an account in it', asking: 'Asking for the text', signing: 'Sign the text in it',
        linking: 'Linking' }[linking.step];
    return <div class="stack">
        {linked.length === 0 && <p class="soft">Linked once, by a signed text that moves nothing. What comes from
            it is credited to you and nobody else.</p>}
        {linked.map((each) => <Choice key={each.binding_id} name="wallet" value={each.binding_id}
            checked={chosen === each.binding_id} onChange={() => choose(each.binding_id)}
            label={<span class="mono">{brief(each.address)}</span>}
            hint={<span style={{ overflowWrap: 'anywhere' }}>{each.address}</span>} />)}
        {hasWallet && <div class="actions">
            <Button kind={linked.length ? undefined : 'primary'} busy={linking.step !== 'idle'}
                onClick={() => void linking.run()}>{words}</Button>
        </div>}
        {!hasWallet && linked.length === 0 && <Empty title="This browser has no wallet.">
            Install one, open this page in the browser of your wallet’s app, or sign the text wherever your wallet is.
        </Empty>}
        <LinkByHand onDone={(binding) => choose(binding.binding_id)} />
        {linking.fault && <Notice tone={linking.fault.isRefusal ? 'lamp' : 'stop'} role="alert"
            title={linking.fault.message} />}
        {linking.error && <Failure error={linking.error} />}
    </div>;
}

