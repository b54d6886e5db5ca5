// One payment from the moment it was announced until it is final on the chain.
import { useState } from 'preact/hooks';
import { useChange, useRead } from '../../api';
import { Countdown, Id, When } from '../../format';
import { Async, Badge, Button, Failure, Notice, Page, Panel, Sheet, Steps, toast, type StepItem } from '../../kit';
import { ownAddress, useQuery } from '../../router';
import { intentState } from '../../words';
import { BalanceAside, OnlyThisToken, RunsFor } from './add_parts';
import { plainUnits } from './amount';
import { sentence, useClaiming, type Claiming, type Intent } from './claiming';
import { assetOf, Funding } from './funding';
import { Final, TransactionLink } from './final';
import { SendIt } from './send_it';
import { brief, isHash } from './wallet';

export function AddIntent({ id }: { id: string }) {
    const read = useRead('show_funding_intent', { path: { id } }, { every: 5 });
    const intent = read.data as Intent | undefined;
    if (!intent) {
        return <Page title="Add money" crumbs={[['Money', '/money']]}>
            <Async read={read} rows={6}>{() => null}</Async>
        </Page>;
    }
    return <Payment intent={intent} />;
}

/** The hash is part of the address: a reload, or another tab, goes on where this one was. */
function useHash(intent: Intent): [string | undefined, (hash: string | undefined) => void] {
    const [query, setQuery] = useQuery();
    const given = query['tx'];
    const known = intent.claim?.tx_hash ?? intent.pending_claim?.tx_hash;
    const hash = given && isHash(given) ? given.toLowerCase() : known?.toLowerCase();
    return [hash, (next) => setQuery({ tx: next }, { replace: true })];
}

function Payment({ intent }: { intent: Intent }) {
    const [hash, setHash] = useHash(intent);
    const claiming = useClaiming(intent, hash);
    const asset = assetOf(intent);
    const amount = `${plainUnits(intent.amount_micro)} ${asset}`;
    const isDone = intent.state === 'CONFIRMED';
    const isOver = isDone || intent.state === 'CANCELLED';
    const isWaiting = intent.state === 'OPEN' && hash === undefined;
    return <Page title={`Add ${amount}`} crumbs={[['Money', '/money']]}
        facts={<>
            <Standing intent={intent} claiming={claiming} isSent={hash !== undefined} />
            {isWaiting && <span>Open until <When at={intent.expires_at} />,{' '}
                <Countdown until={intent.expires_at} /> left</span>}
            <Id value={intent.intent_id} what="payment id" />
        </>}
        actions={!isOver && <CallOff intent={intent} wasSent={hash !== undefined} />}>
        <div class="cols">
            <div class="stack">
                <Outcome intent={intent} claiming={claiming} amount={amount} again={() => setHash(undefined)} />
                <Panel label="The payment, step by step">
                    <Steps items={stepsOf(intent, claiming, hash, setHash)} />
                </Panel>
            </div>
            <aside class="stack">
                <BalanceAside asset={asset} adding={isOver ? '0' : intent.amount_micro} />
                {!isDone && <OnlyThisToken asset={asset} />}
                <Funding title="Earlier" except={intent.intent_id} />
            </aside>
        </div>
    </Page>;
}

function Standing({ intent, claiming, isSent }: { intent: Intent; claiming: Claiming; isSent: boolean }) {
    const { word, tone } = intentState(intent.state);
    if (intent.state !== 'OPEN' || !isSent) return <Badge tone={tone}>{word}</Badge>;
    if (claiming.step === 'refused') return <Badge tone="stop">Not the payment</Badge>;
    if (claiming.step === 'failed') return <Badge tone="lamp">Not found yet</Badge>;
    return <Badge tone="way">On its way</Badge>;
}

function stepsOf(
    intent: Intent, claiming: Claiming, hash: string | undefined, setHash: (hash: string | undefined) => void,
): StepItem[] {
    const isOver = intent.state === 'CANCELLED';
    const isRefused = claiming.step === 'refused' || claiming.step === 'failed';
    const isSent = hash !== undefined && !isRefused;
    return [
        { title: 'Amount', state: 'done', children: <p class="soft">
            {plainUnits(intent.amount_micro)} {assetOf(intent)}. <RunsFor micro={intent.amount_micro} />
        </p> },
        { title: 'Wallet', state: 'done', children: <WalletLine intent={intent} isOpen={!isSent && !isOver} /> },
        { title: 'Send it', state: isSent ? 'done' : isOver ? 'todo' : 'now',
            children: isSent ? <TransactionLink intent={intent} hash={hash} />
                : isOver ? <p class="muted">It was called off.</p>
                : <SendIt intent={intent} onSent={setHash} /> },
        { title: 'Final on the chain', state: intent.state === 'CONFIRMED' ? 'done' : isSent ? 'now' : 'todo',
            children: <Final intent={intent} claiming={claiming} isSent={isSent} /> },
    ];
}

export function useSender(intent: Intent): string | undefined {
    const { data } = useRead('list_wallets');
    return data?.items.find(({ binding_id }) => binding_id === intent.wallet_binding_id)?.address;
}

function WalletLine({ intent, isOpen }: { intent: Intent; isOpen: boolean }) {
    const { data } = useRead('list_wallets');
    const wallet = data?.items.find(({ binding_id }) => binding_id === intent.wallet_binding_id);
    if (!wallet) return <p class="soft">The linked one.</p>;
    return <div class="row">
        <span class="mono" title={wallet.address}>{brief(wallet.address)}</span>
        <span class="muted">linked <When at={wallet.linked_at} /></span>
        {isOpen && <a href={`/money/add?amount=${plainUnits(intent.amount_micro)}&asset=${assetOf(intent)}`}>
            Use another</a>}
    </div>;
}

/** What became of it, or what is wrong, in one sentence. */
function Outcome({ intent, claiming, amount, again }: {
    intent: Intent; claiming: Claiming; amount: string; again: () => void;
}) {
    const [query] = useQuery();
    const back = ownAddress(query['back']);
    if (intent.state === 'CONFIRMED') {
        return <Notice tone="go" role="status" title={`${amount} arrived`}
            actions={back ? <Button kind="primary" href={back}>Back to where you were</Button>
                : <Button kind="primary" href="/">See offers</Button>}>
            <p>Final on the chain{intent.claim && <>, <When at={intent.claim.confirmed_at} /></>}. It can be spent.</p>
        </Notice>;
    }
    if (intent.state === 'CANCELLED') {
        return <Notice title="Called off" actions={<Button kind="primary" href="/money/add">Add money</Button>}>
            If you had sent it all the same: announce the same amount again and give its transaction there.
        </Notice>;
    }
    if (claiming.step === 'failed') {
        const isForeign = claiming.error.status === 403;
        if (!isForeign) return <Failure error={claiming.error} retry={again} />;
        return <Notice tone="stop" role="alert" title="It came from a wallet that is not linked to you"
            actions={<Button onClick={again}>Give another transaction</Button>}>
            Nothing was credited. Link the wallet that sent it, or write to us and name the transaction.
        </Notice>;
    }
    const why = claiming.step === 'looking' ? undefined
        : intent.exception ?? (claiming.step === 'refused' ? claiming.why : undefined);
    if (why) {
        return <Notice tone="stop" role="alert" title="This transaction is not the payment" actions={<>
            <Button onClick={again}>Give another transaction</Button>
            <Button kind="quiet" href={`/help?new=payment&payment=${intent.intent_id}`}>Write to us</Button>
        </>}>
            <p>{sentence(why)} Nothing was credited, and nothing is lost: we can find it.</p>
        </Notice>;
    }
    if (intent.state === 'EXPIRED') {
        return <Notice tone="lamp" title="Its time is over"
            actions={<Button kind="primary" href="/money/add">Announce another</Button>}>
            Send nothing for it any more. If you sent it in time, give its transaction below.
        </Notice>;
    }
    return null;
}

function CallOff({ intent, wasSent }: { intent: Intent; wasSent: boolean }) {
    const [isAsked, setIsAsked] = useState(false);
    const cancel = useChange('cancel_funding_intent', {
        refresh: ['show_funding_intent', 'list_funding_intents'],
        done: () => { setIsAsked(false); toast('Called off.'); },
    });
    return <>
        <Button onClick={() => setIsAsked(true)}>Call it off</Button>
        <Sheet title="Call this payment off?" open={isAsked} onClose={() => setIsAsked(false)} actions={<>
            <Button kind="danger" busy={cancel.busy}
                onClick={() => void cancel.run({ path: { id: intent.intent_id } })}>
                Call it off
            </Button>
            <Button onClick={() => setIsAsked(false)}>Keep it</Button>
        </>}>
            <p>{wasSent ? 'What was sent stays sent: it can be given to another payment of the same amount.'
                : 'Do not send it afterwards. If you have sent it, keep this and give its transaction.'}</p>
            {cancel.error && <Failure error={cancel.error} />}
        </Sheet>
    </>;
}
