// What hosts do with their machines.
#include "billing/types.hpp"
#include "cli/fleet.hpp"
#include "cli/special.hpp"
#include "funding/types.hpp"
#include "hosts/rental_types.hpp"
#include "hosts/types.hpp"
#include "machines/host_agent_types.hpp"
#include "offers/types.hpp"
#include "reports/types.hpp"

namespace berth::cli {
namespace {

constexpr std::string_view host_rental_columns =
    "RENTAL=job_id MACHINE=machine_id STATE=state EARNED=earned_micro WHY=end_reason "
    "SINCE=started_at";

constexpr auto preempt_flags = std::to_array<OwnFlag>({
    {"reason", "TEXT", "for the renter", "the owner needs the machine"},
    {"state", "FOLDER", "of the machine's agent", "/var/lib/berth-agent, or the box's"},
});

constexpr auto offer_flags = std::to_array<OwnFlag>({
    {"label", "NAME", "all your machines that you call so, in the place of MACHINE"},
});

constexpr Command host_table[] = {
    {.words = "machines enroll",
     .method = "POST",
     .path = "/api/v1/hosts/enrollments",
     .body = &wire::type_of<machines::NewEnrollment>,
     .help = "A token for a new machine.",
     .preset = {"tier", "container"},
     .next = "on the machine, with the token in a file: berth-agent enroll --server URL "
             "--token-file FILE"},
    {.words = "machines enrollment",
     .method = "GET",
     .path = "/api/v1/hosts/enrollments/{id}",
     .help = "Whether a machine has come in by a token."},
    {.words = "machines list",
     .method = "GET",
     .path = "/api/v1/hosts/machines",
     .query = &wire::type_of<hosts::MachinesQuery>,
     .columns = machine_columns,
     .help = "Your machines, those first that need you, with the next step for each.",
     .run = list_machines,
     .uses = "GET /api/v1/hosts/machines/{id}"},
    {.words = "machines show",
     .method = "GET",
     .path = "/api/v1/hosts/machines/{id}",
     .help = "One machine."},
    {.words = "machines doctor",
     .help = "What keeps a machine from earning, and what to do.",
     .run = inspect_machine,
     .operands = "ID",
     .uses = "GET /api/v1/hosts/machines/{id}"},
    {.words = "machines test",
     .method = "GET",
     .path = "/api/v1/hosts/machines/{id}/qualification",
     .help = "How the test of a machine went."},
    {.words = "machines retry-test",
     .method = "POST",
     .path = "/api/v1/hosts/machines/{id}/qualification/retry",
     .help = "Tests a machine again."},
    {.words = "machines list-for-rent",
     .method = "POST",
     .path = "/api/v1/hosts/machines/{id}/list",
     .help = "Puts a machine into the catalog."},
    {.words = "machines unlist",
     .method = "POST",
     .path = "/api/v1/hosts/machines/{id}/unlist",
     .help = "Takes a machine out of the catalog."},
    {.words = "machines drain",
     .method = "POST",
     .path = "/api/v1/hosts/machines/{id}/drain",
     .help = "Lets the present rental end, and takes no other."},
    {.words = "machines preempt",
     .help = "Gives the interruptible rental notice, on the machine itself.",
     .run = preempt_machine,
     .flags = preempt_flags,
     .operands = "ID"},
    {.words = "machines take-back",
     .method = "POST",
     .path = "/api/v1/hosts/machines/{id}/preempt",
     .body = &wire::type_of<hosts::TakeBack>,
     .help = "Gives the interruptible rental notice, from anywhere."},
    {.words = "machines name",
     .method = "PATCH",
     .path = "/api/v1/hosts/machines/{id}",
     .body = &wire::type_of<hosts::MachineEdit>,
     .help = "What you call a machine."},
    {.words = "machines rentals",
     .method = "GET",
     .path = "/api/v1/hosts/rentals",
     .query = &wire::type_of<hosts::HostRentalsQuery>,
     .columns = host_rental_columns,
     .help = "The rentals of your machines."},
    {.words = "machines custom-images",
     .method = "PUT",
     .path = "/api/v1/hosts/machines/{id}/custom-images",
     .body = &wire::type_of<offers::CustomImagesWish>,
     .help = "Whether renters may bring images of their own."},
    {.words = "machines rotate-key",
     .method = "POST",
     .path = "/api/v1/hosts/machines/{id}/rotate-key",
     .help = "Has the agent exchange its key."},
    {.words = "machines earnings",
     .method = "GET",
     .path = "/api/v1/hosts/machines/{id}/earnings",
     .query = &wire::type_of<billing::WindowQuery>,
     .help = "What one machine has earned."},
    {.words = "machines retire",
     .method = "DELETE",
     .path = "/api/v1/hosts/machines/{id}",
     .help = "Removes a machine for good."},
    {.words = "offers edit",
     .body = &wire::type_of<offers::OfferEdit>,
     .help = "Sets the price and the terms of a machine; what is left out stays as it is.",
     .next = "berth machines list-for-rent MACHINE, unless it is listed already",
     .run = edit_offers,
     .flags = offer_flags,
     .operands = "[MACHINE]",
     .uses = "GET /api/v1/hosts/machines, GET /api/v1/hosts/machines/{id}, "
             "GET /api/v1/hosts/machines/{id}/offers, PATCH /api/v1/hosts/machines/{id}/offer",
     .keeps_rest = true},
    {.words = "offers history",
     .method = "GET",
     .path = "/api/v1/hosts/machines/{id}/offers",
     .query = &wire::type_of<api::PageQuery>,
     .help = "Every version of a machine's offer."},
    {.words = "earnings",
     .method = "GET",
     .path = "/api/v1/hosts/earnings",
     .query = &wire::type_of<funding::AssetQuery>,
     .help = "What all machines have earned."},
    {.words = "earnings year",
     .method = "GET",
     .path = "/api/v1/hosts/earnings/years/{year}",
     .query = &wire::type_of<reports::YearQuery>,
     .help = "What all machines earned in a year, month by month.",
     .rows = "months"},
};

}  // namespace

std::span<const Command> host_commands() { return host_table; }

}  // namespace berth::cli
