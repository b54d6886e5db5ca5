// What operators know of an account; its owner never sees it.
import { useState } from 'preact/hooks';
import { useChange } from '../../api';
import { When } from '../../format';
import { Button, Failure, Field, Panel, TextArea, Timeline } from '../../kit';
import type { User } from './user';

export function Notes({ user }: { user: User }) {
    const [text, setText] = useState('');
    const change = useChange('add_user_note', { refresh: ['show_user'], done: () => setText('') });
    return <Panel title="Notes">
        {user.notes.length > 0 && <Timeline items={user.notes.map(({ created_at, text: note }) =>
            ({ at: <When at={created_at} />, children: <p class="wraps">{note}</p> }) as never)} />}
        <form class="stack" onSubmit={(event) => {
            event.preventDefault();
            void change.run({ path: { id: user.user_id }, body: { text: text.trim() } });
        }}>
            <Field label="A note">{(ids) => <TextArea {...ids} value={text} onInput={setText} maxLength={2000} />}</Field>
            <Failure error={change.error} />
            <div class="actions"><Button type="submit" busy={change.busy} disabled={text.trim() === ''}>Keep it</Button></div>
        </form>
    </Panel>;
}
