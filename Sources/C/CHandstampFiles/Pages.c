#include "CHandstampFiles.h"

// The templates, texts, styles, script and icon of the pages. They have no zero bytes; a test compares the list with the folder.
#pragma clang diagnostic ignored "-Wc23-extensions"
#define FILE(name) {name, (const unsigned char[]){
#define END , 0}},

static const struct handstamp_page pages[] = {
FILE("account_activity.mustache")
#embed "../../Server/HandstampServer/Templates/account_activity.mustache"
END FILE("account_apps.mustache")
#embed "../../Server/HandstampServer/Templates/account_apps.mustache"
END FILE("account_data.mustache")
#embed "../../Server/HandstampServer/Templates/account_data.mustache"
END FILE("account_devices.mustache")
#embed "../../Server/HandstampServer/Templates/account_devices.mustache"
END FILE("account_email.mustache")
#embed "../../Server/HandstampServer/Templates/account_email.mustache"
END FILE("account_profile.mustache")
#embed "../../Server/HandstampServer/Templates/account_profile.mustache"
END FILE("account_security.mustache")
#embed "../../Server/HandstampServer/Templates/account_security.mustache"
END FILE("account_totp.mustache")
#embed "../../Server/HandstampServer/Templates/account_totp.mustache"
END FILE("actions.mustache")
#embed "../../Server/HandstampServer/Templates/actions.mustache"
END FILE("borrowed.mustache")
#embed "../../Server/HandstampServer/Templates/borrowed.mustache"
END FILE("brand.mustache")
#embed "../../Server/HandstampServer/Templates/brand.mustache"
END FILE("card.mustache")
#embed "../../Server/HandstampServer/Templates/card.mustache"
END FILE("confirm.mustache")
#embed "../../Server/HandstampServer/Templates/confirm.mustache"
END FILE("confirm_email.mustache")
#embed "../../Server/HandstampServer/Templates/confirm_email.mustache"
END FILE("confirm_end.mustache")
#embed "../../Server/HandstampServer/Templates/confirm_end.mustache"
END FILE("confirm_owner.mustache")
#embed "../../Server/HandstampServer/Templates/confirm_owner.mustache"
END FILE("consent.mustache")
#embed "../../Server/HandstampServer/Templates/consent.mustache"
END FILE("console.mustache")
#embed "../../Server/HandstampServer/Templates/console.mustache"
END FILE("de.json")
#embed "../../Server/HandstampServer/Templates/de.json"
END FILE("delete.mustache")
#embed "../../Server/HandstampServer/Templates/delete.mustache"
END FILE("device_allow.mustache")
#embed "../../Server/HandstampServer/Templates/device_allow.mustache"
END FILE("device_code.mustache")
#embed "../../Server/HandstampServer/Templates/device_code.mustache"
END FILE("devices_list.mustache")
#embed "../../Server/HandstampServer/Templates/devices_list.mustache"
END FILE("en.json")
#embed "../../Server/HandstampServer/Templates/en.json"
END FILE("error.mustache")
#embed "../../Server/HandstampServer/Templates/error.mustache"
END FILE("errors.mustache")
#embed "../../Server/HandstampServer/Templates/errors.mustache"
END FILE("field_code.mustache")
#embed "../../Server/HandstampServer/Templates/field_code.mustache"
END FILE("field_email.mustache")
#embed "../../Server/HandstampServer/Templates/field_email.mustache"
END FILE("field_name.mustache")
#embed "../../Server/HandstampServer/Templates/field_name.mustache"
END FILE("field_new_password.mustache")
#embed "../../Server/HandstampServer/Templates/field_new_password.mustache"
END FILE("field_password.mustache")
#embed "../../Server/HandstampServer/Templates/field_password.mustache"
END FILE("footer.mustache")
#embed "../../Server/HandstampServer/Templates/footer.mustache"
END FILE("forgot.mustache")
#embed "../../Server/HandstampServer/Templates/forgot.mustache"
END FILE("icon.svg")
#embed "../../Server/HandstampServer/Templates/icon.svg"
END FILE("icons.mustache")
#embed "../../Server/HandstampServer/Templates/icons.mustache"
END FILE("layout.mustache")
#embed "../../Server/HandstampServer/Templates/layout.mustache"
END FILE("logout.mustache")
#embed "../../Server/HandstampServer/Templates/logout.mustache"
END FILE("message.mustache")
#embed "../../Server/HandstampServer/Templates/message.mustache"
END FILE("notice.mustache")
#embed "../../Server/HandstampServer/Templates/notice.mustache"
END FILE("pages.css")
#embed "../../Server/HandstampServer/Templates/pages.css"
END FILE("pages.js")
#embed "../../Server/HandstampServer/Templates/pages.js"
END FILE("passkey_status.mustache")
#embed "../../Server/HandstampServer/Templates/passkey_status.mustache"
END FILE("person.mustache")
#embed "../../Server/HandstampServer/Templates/person.mustache"
END FILE("provider_buttons.mustache")
#embed "../../Server/HandstampServer/Templates/provider_buttons.mustache"
END FILE("recover.mustache")
#embed "../../Server/HandstampServer/Templates/recover.mustache"
END FILE("recovery_codes.mustache")
#embed "../../Server/HandstampServer/Templates/recovery_codes.mustache"
END FILE("reset.mustache")
#embed "../../Server/HandstampServer/Templates/reset.mustache"
END FILE("scopes.mustache")
#embed "../../Server/HandstampServer/Templates/scopes.mustache"
END FILE("second_factor.mustache")
#embed "../../Server/HandstampServer/Templates/second_factor.mustache"
END FILE("sign_in.mustache")
#embed "../../Server/HandstampServer/Templates/sign_in.mustache"
END FILE("sign_up.mustache")
#embed "../../Server/HandstampServer/Templates/sign_up.mustache"
END
{0, 0}
};

const struct handstamp_page *handstamp_pages(void) { return pages; }
