// Who is right, and what follows: both voices, what was signed, and the amount.
import type { Answer } from 'berth-client';
import { money } from 'berth-client';
import { useState } from 'preact/hooks';
import { fieldError, useChange, useRead } from '../../api';
import { Ago, Id, Money, moneyText, When, visible } from '../../format';
import { AmountInput, Async, Badge, Button, Choice, Empty, Facts, Failure, Field, Page, Panel, toast } from '../../kit';
import { useParams } from '../../router';
import { disputeState } from '../../words';
import { Consequence, saidOf } from './consequence';
import { BearerField, Pockets } from './refund_sheet';
import { Signed } from './signed';
import { usePreview } from './use_preview';

type Dispute = Answer<'show_dispute'>;

export default function OneDispute() {
    const { id = '' } = useParams();
    const read = useRead('show_dispute', { path: { id } }, { every: 30 });
    return <Async read={read}>{(dispute) => <Shown dispute={dispute} />}</Async>;
}

function Shown({ dispute }: { dispute: Dispute }) {
    const [closes, setCloses] = useState(false);
    const { word, tone } = disputeState(dispute.state);
    return <Page title={`Dispute over ${moneyText(dispute.amount_micro, 2, dispute.asset)}`} crumbs={[['Disputes', '/operate/disputes']]}
        facts={<><Badge tone={tone}>{word}</Badge><span>opened <Ago at={dispute.created_at} /></span>
            <Id value={dispute.dispute_id} /></>}
        actions={dispute.state === 'open' && <Button kind="primary" onClick={() => setCloses(true)}>Decide</Button>}>
        <div class="cols">
            <div class="stack">
                <div class="two">
                    <Voice title="The renter says" ticket={dispute.renter_ticket_id} account={dispute.renter_id} />
                    <Voice title="The host says" ticket={dispute.host_ticket_id} account={dispute.host_id} />
                </div>
                <Evidence dispute={dispute} />
                <Signed job={dispute.job_id} />
            </div>
            <div class="stack"><Amounts dispute={dispute} /><Outcome dispute={dispute} /></div>
        </div>
        {closes && <Close dispute={dispute} onClose={() => setCloses(false)} />}
    </Page>;
}

function Voice({ title, ticket, account }: { title: string; ticket: string | null; account: string }) {
    const read = useRead('show_ticket', { path: { id: ticket ?? '' } }, { enabled: ticket !== null });
    return <Panel title={title} aside={ticket !== null && <a href={`/help/${ticket}`}>Ticket</a>}
        footer={<a href={`/operate/users/${account}`}>Account {account.slice(0, 8)}…{account.slice(-4)}</a>}>
        {ticket === null ? <Empty title="Nothing yet.">They have written no ticket about this rental.</Empty>
            : <Async read={read}>{({ text, messages }) => <div class="stack">
                <p class="wraps">“{visible(text)}”</p>
                {messages.map((message) => <p key={message.message_id} class="wraps">
                    <span class="small muted">{message.author === 'support' ? 'We' : 'They'}, <When at={message.created_at} /></span><br />{visible(message.text)}</p>)}
            </div>}</Async>}
    </Panel>;
}

function Evidence({ dispute }: { dispute: Dispute }) {
    return <Panel title="What is known" footer={<>Held to hash <span class="mono tiny wraps">{dispute.evidence_hash}</span></>}>
        <p class="wraps">{visible(dispute.reason)}</p>
        <ul>{dispute.evidence.map((each) => <li key={each} class="wraps">{visible(each)}</li>)}</ul>
        <p class="row"><a href={`/operate/rentals/${dispute.job_id}`}>The rental</a>
            <a href={`/operate/machines/${dispute.machine_id}`}>The machine</a></p>
    </Panel>;
}

function Amounts({ dispute }: { dispute: Dispute }) {
    return <Panel title="Amounts"><Facts items={[
        ['Disputed', <Money micro={dispute.amount_micro} places={6} asset={dispute.asset} />],
        ['Charged', <Money micro={dispute.charged_micro} places={6} asset={null} />],
        ['Of it the fee', <Money micro={dispute.fee_micro} places={6} asset={null} />],
        ['Held of the host', <Money micro={dispute.held_micro} places={6} asset={null} />],
        ['Not secured', <Money micro={dispute.unsecured_micro} places={6} asset={null} />],
        ['Refunded already', <Money micro={dispute.refunded_micro} places={6} asset={null} />],
        ['May be refunded', <Money micro={dispute.refundable_micro} places={6} asset={null} />],
    ]} /></Panel>;
}

function Outcome({ dispute }: { dispute: Dispute }) {
    if (dispute.state === 'open') return null;
    return <Panel title="Outcome"><Facts items={[
        ['Decided', dispute.outcome === 'upheld' ? 'for the renter' : 'for the host'],
        ['Why', dispute.close_reason], ['When', <When at={dispute.closed_at} />],
        dispute.refund_micro ? ['Refunded', <Money micro={dispute.refund_micro} asset={dispute.asset} places={6} />] : null,
    ]} /></Panel>;
}

function Close({ dispute, onClose }: { dispute: Dispute; onClose: () => void }) {
    const [outcome, setOutcome] = useState<'upheld' | 'rejected'>('upheld');
    const [amount, setAmount] = useState(money.toUnits(dispute.amount_micro, 6));
    const [bearer, setBearer] = useState('');
    const refunds = outcome === 'upheld' && /^\d+(\.\d{1,6})?$/.test(amount);
    const body = { outcome, ...(refunds ? { refund_micro: String(money.fromUnits(amount)) } : {}) };
    // An amount that cannot be read is a mistake, not a wish for no refund.
    const isWrong = outcome === 'upheld' && amount.trim() !== '' && !refunds;
    const query = refunds && bearer ? { bearer } : {};
    const preview = usePreview('preview_close_dispute', { path: { id: dispute.dispute_id }, query,
        body: { ...body, reason: 'preview' } });
    const change = useChange('close_dispute', { refresh: ['show_dispute', 'list_disputes'], done: (answer) => {
        toast(saidOf(answer, 'Decided'));
        onClose();
    } });
    const refund = preview.data?.refund;
    return <Consequence title="Decide this dispute" open onClose={onClose} busy={change.busy} error={change.error}
        blocked={isWrong || !preview.data || refund?.needs_bearer === true}
        button={refund ? `Refund ${moneyText(refund.amount_micro, 6, dispute.asset)} and close` : 'Close without a refund'}
        run={(reason) => void change.run({ path: { id: dispute.dispute_id }, query, body: { ...body, reason } } as never)}>
        <Choice name="outcome" value="upheld" checked={outcome === 'upheld'} onChange={() => setOutcome('upheld')}
            label="The renter is right" hint="They get back what you say." />
        <Choice name="outcome" value="rejected" checked={outcome === 'rejected'} onChange={() => setOutcome('rejected')}
            label="The host is right" hint="What was held is theirs again." />
        {outcome === 'upheld' && <Field label="Refund" hint="Empty for none."
            error={isWrong ? 'An amount such as 0.50.' : fieldError(change.error ?? preview.error, 'body.refund_micro')}>
            {(ids) => <AmountInput {...ids} value={amount} onInput={setAmount} unit={dispute.asset} />}</Field>}
        {preview.error && <Failure error={preview.error} />}
        {preview.data && <p>Held of the host and let go: <Money
            micro={preview.data.released_micro} asset={dispute.asset} places={6} /></p>}
        {refund && <Pockets preview={refund} asset={dispute.asset} />}
        {refunds && <BearerField preview={refund ?? undefined} bearer={bearer} onChange={setBearer} />}
    </Consequence>;
}
