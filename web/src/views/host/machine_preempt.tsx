// A host who needs the machine back from an interruptible rental.
import { useState } from 'preact/hooks';
import { fieldError, useRead } from '../../api';
import { duration, Id, When } from '../../format';
import { Button, Failure, Field, Notice, Panel, Sheet, TextInput } from '../../kit';
import { usePreempt, type Machine } from './later';

/** Only while an interruptible rental runs: a dedicated one has no notice. */
export function Preempt({ id, machine }: { id: string; machine: Machine }) {
    const [isOpen, setOpen] = useState(false);
    const [given, setGiven] = useState<{ job_id: string; deadline_at: string }>();
    const version = useRead('list_offer_versions', { path: { id }, query: { limit: 1 } },
        { enabled: machine.state === 'ALLOCATED' }).data?.items[0];
    if (machine.state !== 'ALLOCATED' || version?.availability_class !== 'interruptible') return null;
    return <Panel title="You need it back?">
        {given ? <Notice role="status" title="Notice is given">
            <p>The rental <Id value={given.job_id} what="rental id" /> ends
                {' '}<When at={given.deadline_at} /> at the latest.</p>
        </Notice> : <>
            <p class="small soft">Its rental is interruptible. After your notice of
                {' '}{duration((version.preemption_notice_s ?? 0) * 1000)} it ends.</p>
            <Button onClick={() => setOpen(true)}>Give notice</Button>
        </>}
        {isOpen && <NoticeSheet id={id} noticeS={version.preemption_notice_s ?? 0} onClose={() => setOpen(false)}
            onGiven={(answer) => { setGiven(answer); setOpen(false); }} />}
    </Panel>;
}

const reasonMax = 500;

function NoticeSheet({ id, noticeS, onClose, onGiven }: {
    id: string; noticeS: number; onClose: () => void; onGiven: (answer: { job_id: string; deadline_at: string }) => void;
}) {
    const [reason, setReason] = useState('');
    const preempt = usePreempt();
    const send = async () => {
        const answer = await preempt.run({ path: { id }, body: { reason: reason.trim() } });
        if (answer) onGiven(answer);
    };
    const error = fieldError(preempt.error, 'body.reason');
    return <Sheet title="Give the renter notice" open onClose={onClose} onSubmit={() => void send()} actions={<>
        <Button kind="danger" type="submit" busy={preempt.busy} disabled={reason.trim() === ''}>
            End it with notice</Button>
        <Button onClick={onClose}>Cancel</Button>
    </>}>
        <ul>
            <li>From now on the rental earns you nothing.</li>
            <li>The renter can use the machine for {duration(noticeS * 1000)} more; then it ends and is wiped.</li>
            <li>It counts in what renters see of interruptions of this machine.</li>
        </ul>
        <Field label="Why, for the renter" error={error}>
            {(ids) => <TextInput {...ids} value={reason} maxLength={reasonMax} onInput={setReason} autoFocus />}
        </Field>
        {preempt.error && !error && <Failure error={preempt.error} />}
    </Sheet>;
}
