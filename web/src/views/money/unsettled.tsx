// A transfer whose answer was lost. With another code it would be another request, so the same one goes again.
import { Button, Notice } from '../../kit';

export function Unsettled({ again }: { again: () => void }) {
    return <Notice tone="lamp" role="alert" title="No answer came"
        actions={<Button kind="primary" onClick={again}>Ask again</Button>}>
        It may have been asked for or not. Asking again finds out, and never sends it twice.
    </Notice>;
}
