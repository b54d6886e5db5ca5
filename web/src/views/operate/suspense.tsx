// Money that came and that nobody claimed: whose it is, or back where it came from.
import type { Item } from 'berth-client';
import { useState } from 'preact/hooks';
import { fieldError, useChange } from '../../api';
import { Ago, Id, Money } from '../../format';
import { Badge, Button, Field, Page, TextInput, toast } from '../../kit';
import { depositState } from '../../words';
import { Consequence, saidOf } from './consequence';
import { choices, DeskList } from './desk_list';

type Deposit = Item<'list_suspense'>;
type Step = 'match' | 'return' | 'cancel';

export default function Suspense() {
    const [asked, setAsked] = useState<{ step: Step; deposit: Deposit }>();
    return <Page title="Suspense" facts="What the chain brought and no claim explains.">
        <DeskList operation="list_suspense" caption="Suspense" keyOf={({ deposit_id }) => deposit_id}
            filters={[{ name: 'state', label: 'State', options: choices(['SUSPENSE', 'RETURNING', 'RETURNED'], (state) => depositState(state).word) }]}
            empty="Nothing lies here." columns={[
                { head: 'From', cell: ({ from, deposit_id }) => <><Id value={from} /><small><Id value={deposit_id} /></small></> },
                { head: 'Amount', right: true, cell: ({ amount_micro, asset }) => <Money micro={amount_micro} asset={asset} places={6} /> },
                { head: 'Transaction', cell: ({ tx_hash, log_index }) => <><Id value={tx_hash} /><small>log {log_index}</small></>, narrow: 'hide' },
                { head: 'State', cell: ({ state }) => <Badge tone={depositState(state).tone}>{depositState(state).word}</Badge> },
                { head: 'Seen', right: true, cell: ({ seen_at }) => <Ago at={seen_at} /> },
                { head: <span class="sr">Actions</span>, right: true, cell: (deposit) => <span class="actions end">
                    {deposit.state === 'SUSPENSE' && <>
                        <Button small onClick={() => setAsked({ step: 'match', deposit })}>Match</Button>
                        <Button small onClick={() => setAsked({ step: 'return', deposit })}>Send back</Button></>}
                    {deposit.state === 'RETURNING' && <Button small onClick={() => setAsked({ step: 'cancel', deposit })}>Call back</Button>}
                </span> },
            ]} />
        {asked && <SuspenseStep key={asked.step + asked.deposit.deposit_id} {...asked} onClose={() => setAsked(undefined)} />}
    </Page>;
}

const titles: Record<Step, string> = { match: 'Give it to an account', return: 'Send it back', cancel: 'Call it back' };

function SuspenseStep({ step, deposit, onClose }: { step: Step; deposit: Deposit; onClose: () => void }) {
    const [target, setTarget] = useState(step === 'return' ? deposit.from : '');
    const [evidence, setEvidence] = useState('');
    const after = { refresh: ['list_suspense' as const], done: (answer: object) => { toast(saidOf(answer, 'Done')); onClose(); } };
    const [match, back, cancel] = [useChange('match_suspense', after), useChange('return_suspense', after),
        useChange('cancel_suspense_return', after)];
    const path = { deposit_id: deposit.deposit_id };
    const error = match.error ?? back.error ?? cancel.error;
    function run(reason: string) {
        if (step === 'match') return void match.run({ path, body: { account_id: target.trim(), reason, evidence: [evidence.trim()] } });
        if (step === 'return') return void back.run({ path, body: { address: target.trim(), reason } });
        return void cancel.run({ path, body: { reason } });
    }
    const amount = <Money micro={deposit.amount_micro} asset={deposit.asset} places={6} />;
    return <Consequence title={titles[step]} open onClose={onClose} run={run} error={error}
        busy={match.busy || back.busy || cancel.busy} button={<>{titles[step]}</>}
        blocked={(step !== 'cancel' && target.trim() === '') || (step === 'match' && evidence.trim() === '')}>
        <p>{step === 'match' ? <>The account can spend {amount} at once.</>
            : step === 'return' ? <>{amount} leave the treasury for this address. Sent is sent.</>
            : <>{amount} stay here, if they have not left yet.</>}</p>
        {step !== 'cancel' && <Field label={step === 'match' ? 'Account' : 'Address'}
            error={fieldError(error, step === 'match' ? 'body.account_id' : 'body.address')}>
            {(ids) => <TextInput {...ids} value={target} onInput={setTarget} mono />}</Field>}
        {step === 'match' && <Field label="What shows that it is theirs" error={fieldError(error, 'body.evidence')}>
            {(ids) => <TextInput {...ids} value={evidence} onInput={setEvidence} />}</Field>}
    </Consequence>;
}
