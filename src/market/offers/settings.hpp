// What operators may set about offers.
#pragma once

#include "settings/registry.hpp"

namespace berth::offers {

struct Settings {
    static constexpr auto category = settings::Category::operations;

    settings::Flag availability_classes_released{
        false,
        {.label = "Availability classes",
         .help = "Hosts may say whether an offer is dedicated or interruptible."}};
    settings::Flag custom_images_enabled{
        false,
        {.label = "Custom images",
         .help = "Hosts may take renters' own public images; those that do not are not "
                 "asked."}};
};
BOOST_DESCRIBE_STRUCT(Settings, (), (availability_classes_released, custom_images_enabled))

}  // namespace berth::offers
