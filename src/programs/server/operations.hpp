// What a command on the server's own machine leaves with the admins where four eyes are on, and
// what is done when one of them confirms it. What the chain said is kept with it, since a
// confirmation is one transaction and asks nobody: what was final then is final.
#pragma once

#include "four_eyes/four_eyes.hpp"
#include "server/treasury_commands.hpp"
#include "treasury/treasury.hpp"

namespace berth::server {

// Nothing leaves the account until it is decided. Throws a Problem as treasury::check_adoption()
// does.
four_eyes::PendingActionId ask_to_adopt(db::Context context, const ledger::Treasury& ours,
                                        const transfers::Adoption& adoption,
                                        const treasury::Authority& authority);
four_eyes::PendingActionId ask_for_order(db::Context context, const SeenOrder& seen,
                                         const four_eyes::Wish& wish);

// Makes both known to whoever confirms. The treasury must outlive it.
void add_operations(four_eyes::FourEyes& four_eyes, const ledger::Treasury& ours);

}  // namespace berth::server
