// Where do I send what? Amount and wallet make an intent, whose page stays until the money is there.
import { useParams } from '../../router';
import { AddBegin } from './add_begin';
import { AddIntent } from './add_intent';

export default function AddMoney() {
    const { intent } = useParams();
    return intent ? <AddIntent key={intent} id={intent} /> : <AddBegin />;
}
